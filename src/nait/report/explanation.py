"""Why the agent acts as it does, as a picture: its values, and the remembered moments behind the best one."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from nait.agent import NAIT, ActionValue, Decision, Neighbour
from nait.errors import NaitError
from nait.representation import DCT, NativeDCT

MOMENTS = 6
CHOSEN, OTHER = "#0072b2", "#b5b5b5"  # colour-blind safe: blue and grey


def draw(decision: Decision, screen: NDArray[np.uint8] | None, agent: NAIT, title: str) -> Figure:
    """The screen, the value of every action, and the moments that the chosen one's value rests on.

    :param screen: the picture a person sees; None leaves it out
    """
    figure = Figure(figsize=(12, 5.6), layout="constrained")
    figure.suptitle(title)
    chosen = decision.actions[decision.action]
    moments = sorted(chosen.neighbours, key=lambda n: -n.weight)[:MOMENTS]
    rows: Any = figure.subfigures(2, 1, height_ratios=(8, 5))
    above, below = rows
    now, values = above.subplots(1, 2, width_ratios=(1, 2.2))
    if screen is not None:
        now.imshow(screen, aspect="auto")
    now.set_title("now")
    now.axis("off")
    _draw_values(values, decision)
    if moments:
        below.suptitle("the moments that weigh most in this, as the memory keeps them", fontsize=10)
        for axes, moment in zip(below.subplots(1, MOMENTS, squeeze=False)[0], moments, strict=False):
            _draw_moment(axes, moment, agent)
        for axes in below.axes[len(moments) :]:
            axes.axis("off")
    return figure


def _draw_values(axes: Any, decision: Decision) -> None:
    names = [action.name for action in decision.actions]
    values = [action.value for action in decision.actions]
    colours = [CHOSEN if action.action == decision.action else OTHER for action in decision.actions]
    bars = axes.bar(range(len(names)), [value if math.isfinite(value) else 0.0 for value in values], color=colours)
    axes.bar_label(bars, [f"{value:.1f}" if math.isfinite(value) else "new" for value in values], padding=2, fontsize=8)
    axes.margins(y=0.15)
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=8)
    axes.set_ylabel("remembered return, Q(s, a)")
    chosen = decision.actions[decision.action]
    axes.set_title(f"it takes {chosen.name}: {_reason(chosen, decision)}")
    axes.spines[["top", "right"]].set_visible(False)


def _reason(chosen: ActionValue, decision: Decision) -> str:
    if math.isinf(chosen.value):
        return "it has been tried too seldom to be judged"
    ties = sum(action.value == chosen.value for action in decision.actions)
    if chosen.exact:
        return f"it has been in this very state, and {chosen.value:.1f} followed"
    if ties > 1:
        return f"{ties} actions are worth {chosen.value:.1f}, and this one is the newest"
    return f"{len(chosen.neighbours)} similar moments say {chosen.value:.1f}"


def _draw_moment(axes: Any, moment: Neighbour, agent: NAIT) -> None:
    if isinstance(agent.representation, DCT | NativeDCT):
        newest = agent.representation.inverse(moment.state)[-1]
        axes.imshow(newest, cmap="gray", aspect="auto")
    else:
        axes.plot(moment.state, color=CHOSEN, linewidth=0.8)
    axes.set_title(
        f"episode {moment.episode}, step {moment.step}\nweight {moment.weight:.0%}, return {moment.value:.1f}",
        fontsize=8,
    )
    axes.set_xticks([])
    axes.set_yticks([])


def save(figure: Figure, path: Path) -> None:
    """Write the picture under a temporary name, then rename."""
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise NaitError(f"a picture's name must end in .png, .svg or .pdf, not {path.name!r}")
    temporary = path.with_name(f"{path.stem}.tmp{path.suffix}")
    FigureCanvasAgg(figure)
    try:
        figure.savefig(temporary, dpi=110)
        os.replace(temporary, path)
    except OSError as error:
        raise NaitError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def explain_moment(agent: NAIT, env: Any, step: int, seed: int | None) -> tuple[Decision, Any]:
    """Play a fresh episode up to `step` and ask for the decision there; returns it with the screen."""
    observation, _ = env.reset(seed=seed)
    state = None
    for t in range(step):
        action, state = agent.predict(observation, state, deterministic=True)
        observation, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            raise NaitError(f"the episode ended after {t + 1} steps: ask for an earlier --step")
    screen = env.render() if env.render_mode == "rgb_array" else None
    return agent.explain(observation, state), screen
