"""What `learn` tells while it runs, with Stable-Baselines3's names.

Its callbacks work here too, as far as they do not ask for a vectorised environment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from nait.agent import NAIT


@runtime_checkable
class CallbackLike(Protocol):
    """The calls `learn` makes; `stable_baselines3.common.callbacks.BaseCallback` has them all."""

    def init_callback(self, model: Any) -> None: ...
    def on_training_start(self, locals_: dict[str, Any], globals_: dict[str, Any]) -> None: ...
    def on_step(self) -> bool: ...
    def on_training_end(self) -> None: ...


Function = Callable[[dict[str, Any], dict[str, Any]], bool | None]


class Callback:
    """Derive from this and override `_on_step`; returning False there ends the training.

    `self.model` is the agent, `self.num_timesteps` the steps so far, and `self.locals` holds
    `infos`, `rewards` and `dones` of the last step.
    """

    model: NAIT

    def __init__(self) -> None:
        self.n_calls = 0
        self.num_timesteps = 0
        self.locals: dict[str, Any] = {}

    def init_callback(self, model: NAIT) -> None:
        self.model = model

    def on_training_start(self, locals_: dict[str, Any], globals_: dict[str, Any]) -> None:
        self.locals = locals_
        self._on_training_start()

    def on_step(self) -> bool:
        self.n_calls += 1
        self.num_timesteps = self.model.num_timesteps
        return self._on_step()

    def on_training_end(self) -> None:
        self._on_training_end()

    def _on_training_start(self) -> None:
        """Before the first step."""

    def _on_step(self) -> bool:
        """After every step; False ends the training."""
        return True

    def _on_training_end(self) -> None:
        """After the last step."""


class FunctionCallback(Callback):
    """A plain function `f(locals, globals)`, called after every step."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self._function = function

    def _on_step(self) -> bool:
        return self._function(self.locals, {}) is not False


class CallbackList(Callback):
    """Several callbacks as one; all are called, and one False is enough to end."""

    def __init__(self, callbacks: list[CallbackLike]) -> None:
        super().__init__()
        self._callbacks = callbacks

    def init_callback(self, model: NAIT) -> None:
        super().init_callback(model)
        for callback in self._callbacks:
            callback.init_callback(model)

    def on_training_start(self, locals_: dict[str, Any], globals_: dict[str, Any]) -> None:
        for callback in self._callbacks:
            callback.on_training_start(locals_, globals_)

    def on_step(self) -> bool:
        answers = [callback.on_step() for callback in self._callbacks]
        return all(answers)

    def on_training_end(self) -> None:
        for callback in self._callbacks:
            callback.on_training_end()


MaybeCallback = None | CallbackLike | Function | list[CallbackLike]


def as_callback(given: MaybeCallback) -> CallbackLike:
    """Whatever the user gave to `learn`, as one callback."""
    if given is None:
        return CallbackList([])
    if isinstance(given, list):
        return CallbackList(given)
    if isinstance(given, CallbackLike):
        return given
    return FunctionCallback(given)
