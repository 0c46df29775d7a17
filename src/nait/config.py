"""Every hyperparameter of the agent, its symbol in the paper and the paper's value (Table 2).

Fields under "Open points" are choices the paper leaves open; `docs/reproduction.md` says what is
known about each and why the default is what it is.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from nait.errors import NaitError

Epsilon = float | tuple[float, float, int]

BEFORE = {"epsilon_hold": 1, "play": "greedy", "play_reach": 1}
"""What the agent did before there was an option, where that is not the default: for files that do not name it."""

LONGEST_REACH = 1024  # times k: far more than any memory has use for, and no overflow


def hyper(default: Any, symbol: str, text: str, choices: tuple[str, ...] = ()) -> Any:
    """One hyperparameter: `symbol` is the paper's, "" where it has none; `choices` if it is a name."""
    return field(default=default, metadata={"symbol": symbol, "text": text, "choices": choices})


@dataclass(frozen=True, kw_only=True)
class Config:
    """Hyperparameters of NAIT; the defaults are the paper's, but for the open points."""

    k: int = hyper(64, "k", "neighbours a lookup takes")
    state_dim: int = hyper(289, "F", "length of a state; a square for the DCT")
    gamma: float = hyper(0.99, "gamma", "discount")
    alpha: float = hyper(0.1, "alpha", "learning rate for pairs known before the trace")
    update_every: int = hyper(50, "r", "steps between two inter-trace updates")
    representation: str = hyper(
        "dct",
        "phi",
        "from frames to a state; vector observations take a projection or identity",
        ("dct", "sparse", "very_sparse", "gaussian", "identity"),
    )
    kernel: str = hyper(
        "tricubic",
        "K",
        "weight of a neighbour by its distance",
        ("tricubic", "uniform", "inverse", "triweight", "gaussian"),
    )
    tie_break: str = hyper(
        "novelty",
        "pi_tiebreak",
        "among actions of equal value: by distance to what is known, uniformly, or the first",
        ("novelty", "uniform", "first"),
    )
    update: str = hyper(
        "intertrace",
        "Q_IT",
        "write targets while the episode runs, or Monte-Carlo returns at its end",
        ("intertrace", "monte_carlo"),
    )
    index: str = hyper(
        "native",
        "L",
        "nearest-neighbour index; native is the C++ core, for what the DCT or a projection makes of four "
        "frames (hnswlib for anything else)",
        ("native", "hnswlib", "flat", "kdtree"),
    )
    M: int = hyper(40, "M", "links a node of the graph keeps; the native one keeps a share of them")
    ef_construction: int = hyper(200, "efc", "candidates while inserting")
    ef_search: int = hyper(200, "efs", "candidates while searching; the native graph takes a share of them")

    # Open points
    alpha_up: float = hyper(
        1.0,
        "alpha",
        "learning rate where the new return is above the value known: 1 takes it at once, since what was reached once "
        "can be reached again; the paper has alpha for both",
    )
    trace_end: str = hyper(
        "life",
        "H",
        "what ends a trace: a lost life too (the game goes on), or only the end of the episode",
        ("life", "episode"),
    )
    epsilon: Epsilon = hyper(
        (0.01, 0.0, 80_000),
        "epsilon",
        "chance that a step of learning begins a random action: a number, or START:END:STEPS for a linear decay; the "
        "paper speaks of none",
    )
    epsilon_hold: int = hyper(
        64,
        "",
        "steps that a random action is held at most; how many is drawn each time with a chance falling as 1 / n^2",
    )
    play: str = hyper(
        "known",
        "pi",
        "what is done without learning in a state met before: the best action taken there, unless half of the others "
        "promise as much (known), or that of the highest value, as while learning (greedy, the paper's)",
        ("known", "greedy"),
    )
    play_reach: int = hyper(
        2,
        "",
        "an estimate without learning takes so many times k neighbours; 1 is the paper's",
    )
    thin_value: str = hyper(
        "infinite",
        "",
        "value of an unmet state for an action with fewer than k states: infinite, so that every action is "
        "first tried k times, or zero (the paper's third case)",
        ("infinite", "zero"),
    )
    thin_distance: str = hyper(
        "letter",
        "",
        "tie-break distance of an action with fewer than k states: their sum over k (the formula to the "
        "letter), the mean over those there are, or infinite",
        ("letter", "mean", "infinite"),
    )
    update_timing: str = hyper(
        "batch",
        "t0",
        "what t0 is: the start of the trace, for all pairs together (batch), or each pair's first visit, so that it is "
        "written 0, r, 2r, ... steps later (staggered), or first after r (delayed)",
        ("batch", "staggered", "delayed"),
    )
    trace_decay: float = hyper(
        1.0,
        "lambda",
        "inter-trace target of a pair that the memory did not hold: the mean of all it has had with weights falling "
        "as lambda^n (the lambda-return); 1 keeps the last alone, as the paper does",
    )
    temperature: float = hyper(1.0, "", "divides squared distances (of pixels 0..255) in the tie-break's softmax")
    frame_stack: int = hyper(4, "", "frames a state sees, where an image environment does not stack them itself")

    def __post_init__(self) -> None:
        for name in (
            "k",
            "state_dim",
            "update_every",
            "M",
            "ef_construction",
            "ef_search",
            "epsilon_hold",
            "play_reach",
            "frame_stack",
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise NaitError(f"{name} must be a whole number of at least 1, not {value!r}")
        if self.play_reach > LONGEST_REACH:
            raise NaitError(f"play_reach must be at most {LONGEST_REACH}, not {self.play_reach}")
        if self.M < 2:
            raise NaitError(f"M must be at least 2, not {self.M}")
        for name in ("gamma", "alpha", "alpha_up", "trace_decay"):
            value = getattr(self, name)
            if not _is_number(value) or not 0 <= value <= 1:
                raise NaitError(f"{name} must lie in [0, 1], not {value!r}")
        if not _is_number(self.temperature) or not 0 < self.temperature < math.inf:
            raise NaitError(f"temperature must be a positive number, not {self.temperature!r}")
        for entry in fields(self):
            choices = entry.metadata["choices"]
            if choices and getattr(self, entry.name) not in choices:
                raise NaitError(f"{entry.name} must be one of {', '.join(choices)}, not {getattr(self, entry.name)!r}")
        if self.representation == "dct" and math.isqrt(self.state_dim) ** 2 != self.state_dim:
            low = math.isqrt(self.state_dim)
            raise NaitError(
                f"state_dim (F) must be a square for the DCT, such as {low**2} or {(low + 1) ** 2}, "
                f"not {self.state_dim}"
            )
        object.__setattr__(self, "epsilon", _checked_epsilon(self.epsilon))

    def epsilon_at(self, step: int) -> float:
        """The chance of a random action at environment step `step`."""
        if isinstance(self.epsilon, tuple):
            start, end, steps = self.epsilon
            return start + (end - start) * min(step / steps, 1.0)
        return self.epsilon

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON can hold them; `from_json` is the way back."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Config:
        """Read what `to_json` wrote."""
        data = {**BEFORE, "alpha_up": data.get("alpha", 0.1), **data}
        known = {entry.name for entry in fields(cls)}
        if unknown := sorted(set(data) - known):
            raise NaitError(f"unknown hyperparameter {unknown[0]!r}: this version of nait has no such option")
        if isinstance(data.get("epsilon"), list):
            data = {**data, "epsilon": tuple(data["epsilon"])}
        return cls(**data)


def epsilon_text(epsilon: Epsilon) -> str:
    """What `parse_epsilon` reads."""
    return ":".join(f"{x:g}" for x in epsilon) if isinstance(epsilon, tuple) else f"{epsilon:g}"


def parse_epsilon(text: str) -> Epsilon:
    """Read `0.1` or `1.0:0.0:5000`."""
    parts = text.split(":")
    try:
        if len(parts) == 1:
            return float(text)
        start, end, steps = parts
        return float(start), float(end), int(steps)
    except ValueError:
        raise NaitError(f"epsilon must be a number or START:END:STEPS, such as 1:0:5000, not {text!r}") from None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)


def _checked_epsilon(value: object) -> Epsilon:
    if isinstance(value, (int, float)) and _is_number(value) and 0 <= value <= 1:
        return float(value)
    if isinstance(value, tuple) and len(value) == 3:
        start, end, steps = value
        if all(_is_number(x) and 0 <= x <= 1 for x in (start, end)) and isinstance(steps, int) and steps > 0:
            return float(start), float(end), steps
    raise NaitError(f"epsilon must be a number in [0, 1] or (start, end, steps), not {value!r}")
