"""The progress of a training: a live bar on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from tqdm import tqdm

from nait.callbacks import Callback

LINE_SECONDS = 5.0
SHOWN = 5  # episodes in the trailing mean


class ProgressCallback(Callback):
    """Shows steps, itr/s, the time left and the mean score of the last five episodes.

    :param goal: the step count at which training ends
    """

    def __init__(self, goal: int, stream: TextIO | None = None) -> None:
        super().__init__()
        self._goal = goal
        self._stream = stream or sys.stderr
        self._bar: tqdm[Any] | None = None
        self._show: Callable[[], None] = lambda: None

    def _on_training_start(self) -> None:
        self._begun, self._first = time.monotonic(), self.model.num_timesteps
        self._last_line = self._begun
        if self._stream.isatty():
            self._bar = tqdm(
                total=self._goal, initial=self._first, unit="it", file=self._stream, dynamic_ncols=True, smoothing=0.05
            )
            self._show = self._update_bar
        else:
            self._show = self._print_line

    def _on_step(self) -> bool:
        if self.n_calls % 50 == 0:
            self._show()
        return True

    def _on_training_end(self) -> None:
        if self._bar is not None:
            self._update_bar()
            self._bar.close()

    def _update_bar(self) -> None:
        assert self._bar is not None
        self._bar.set_postfix_str(self._score(), refresh=False)
        self._bar.update(self.model.num_timesteps - self._bar.n)

    def _print_line(self) -> None:
        now = time.monotonic()
        if now - self._last_line < LINE_SECONDS:
            return
        self._last_line = now
        done = self.model.num_timesteps
        rate = (done - self._first) / (now - self._begun)
        left = (self._goal - done) / rate if rate else float("inf")
        print(
            f"{done:,} of {self._goal:,} steps, {rate:.0f} itr/s, {left:.0f} s left, {self._score()}",
            file=self._stream,
            flush=True,
        )

    def _score(self) -> str:
        scores = self.model.episode_scores[-SHOWN:]
        if not scores:
            return "no episode ended yet"
        ended = len(self.model.episode_scores)
        return f"score {sum(scores) / len(scores):.1f} (last {len(scores)} of {ended} episodes)"
