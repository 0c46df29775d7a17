"""All experiments by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from nait.errors import NaitError
from nait.paper import ablations, kernels, random_walk, recall, runs, settings, sweeps
from nait.paper.experiment import Experiment

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        runs.OVERVIEW_EXPERIMENT,
        random_walk.EXPERIMENT,
        runs.LONG_RUN,
        runs.SPEED_EXPERIMENT,
        ablations.EXPERIMENT,
        sweeps.SENSITIVITY,
        settings.CLIPPING,
        settings.STICKY,
        recall.EXPERIMENT,
        sweeps.EF,
        runs.WALLTIME,
        kernels.EXPERIMENT,
        sweeps.DISCOUNT,
        settings.MFEC_EXPERIMENT,
    )
}
LIST = "list"


def find(name: str, given: Iterable[str]) -> Experiment:
    """The experiment of this name, if it takes all options that were given."""
    if name not in EXPERIMENTS:
        near = difflib.get_close_matches(name, EXPERIMENTS, n=1)
        hint = f"did you mean {near[0]}?" if near else "`nait paper list` names them"
        raise NaitError(f"there is no experiment {name!r}: {hint}")
    experiment = EXPERIMENTS[name]
    for option in given:
        if option not in experiment.options:
            raise NaitError(f"{name} takes no --{option}")
    return experiment


def listed() -> list[str]:
    """One line each: what it shows and how long it takes."""
    width = max(map(len, EXPERIMENTS)) + 2
    return [f"{name:<{width}}{found.shows} ({found.takes})" for name, found in EXPERIMENTS.items()]
