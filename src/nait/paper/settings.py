"""NAIT beside itself under other conditions (clipping, sticky), and beside model-free episodic control (mfec)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nait.experiments.suites import atari57, atari100k
from nait.paper.experiment import Experiment, Page, Request
from nait.paper.figures import Sweep, distributions, picture
from nait.paper.suite import Size, Variant, about, run_variants
from nait.paper.tables import comparison_table, difference_table
from nait.report import figures
from nait.report.page import Section
from nait.report.study import of_columns
from nait.report.tables import games_table, speed_table

FULL = Size(tuple(atari100k()), seeds=10, steps=100_000)
FULL_57 = Size(tuple(atari57()), seeds=10, steps=100_000)
QUICK = Size(("MsPacman", "Asterix"), seeds=2, steps=4000, episodes=3)

# k, F, the discount, epsilon and the maximum are those of Blundell et al. (2016). What that paper leaves open is as
# simple as it can be: no preference among ties, and every action tried k times before its mean counts.
MFEC: dict[str, Any] = {
    "representation": "gaussian",
    "state_dim": 64,
    "k": 11,
    "kernel": "uniform",
    "update": "monte_carlo",
    "alpha": 0.0,
    "alpha_up": 1.0,
    "gamma": 1.0,
    "epsilon": 0.005,
    "epsilon_hold": 1,
    "tie_break": "uniform",
    "thin_value": "infinite",
    "trace_end": "episode",
    "play": "greedy",
    "play_reach": 1,
}


def clipping(request: Request) -> Page:
    """Rewards as they are and clipped, on the 26 games."""
    variants = [Variant("rewards as they are"), Variant("rewards clipped", {"reward_clipping": True})]
    return _compare("clipping", request, variants, FULL)


def sticky(request: Request) -> Page:
    """Actions obeyed and sticky, on all games, with no-op starts in both."""
    variants = [Variant("actions obeyed"), Variant("sticky actions (0.25)", {"sticky_actions": 0.25})]
    text = "Both begin every episode with 1 to 30 frames without action."
    return _compare("sticky", request, variants, FULL_57, text)


def mfec(request: Request) -> Page:
    """NAIT and MFEC as two configurations of the same parts."""
    given = ", ".join(f"{name}={value}" for name, value in MFEC.items())
    text = f"MFEC here: {given}; the games' settings and the index are NAIT's."
    return _compare("mfec", request, [Variant("NAIT"), Variant("MFEC", MFEC)], FULL, text)


def _compare(name: str, request: Request, variants: Sequence[Variant], full: Size, *texts: str) -> Page:
    outcome = run_variants(name, request, variants, full, QUICK)
    columns = list(outcome.columns.values())
    study = of_columns(columns)
    sweep = Sweep("", [(column.label, column) for column in columns], "", outcome.speed)
    parts: list[Any] = comparison_table(name, "Aggregates", columns)
    parts += difference_table(name, columns)
    parts += picture(
        f"{name}_scores",
        "The games' human-normalised scores, each averaged over its seeds first. Boxes: the middle half.",
        lambda: distributions([sweep]) if columns else None,
    )
    parts += picture(
        f"{name}_learning",
        "The last five training episodes' score over time. Bands: 95 % intervals over seeds.",
        lambda: figures.learning(study),
    )
    parts += [games_table(study), speed_table(columns)]
    return Page([about(outcome, *texts), Section("Scores", parts=parts)], failed=outcome.failed)


CLIPPING = Experiment(
    "clipping",
    "the effect of clipped rewards on the 26 games",
    "520 runs of 100k steps: about a day of one core",
    clipping,
)
STICKY = Experiment(
    "sticky",
    "the effect of sticky actions on all 57 games, with no-op starts",
    "1,140 runs of 100k steps: days of one core",
    sticky,
)
MFEC_EXPERIMENT = Experiment(
    "mfec",
    "model-free episodic control, built from the same parts, beside NAIT",
    "520 runs of 100k steps: about a day of one core",
    mfec,
)
