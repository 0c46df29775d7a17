"""The experiments that go through the suite: real small runs for a few, records made up for the whole figures."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic
from inline_engine import InlineEngine

from nait.errors import NaitError
from nait.experiments import resources, store
from nait.experiments.plan import Suite, make_jobs
from nait.experiments.store import Record
from nait.paper import ablations, pace, registry, runs, settings, suite, sweeps
from nait.paper.experiment import Request, Unfinished, perform
from nait.paper.suite import Size, Variant
from nait.report.results import columns_of, read_source

GAMES = ("MsPacman", "Freeway", "Breakout")
TINY = Size(("MsPacman",), seeds=1, steps=200, episodes=1, speed_steps=60)
PACED = {"ablations": 14, "sensitivity": 12, "ef": 6}  # experiments with measured speeds, and their rows that have them


class NoEngine:
    """Every run must be in the store already."""

    def __init__(self, folder: Path) -> None:
        pytest.fail("there is nothing left to run")


def request(out: Path, engine: Any = InlineEngine, **more: Any) -> Request:
    return Request(out=out, engine=engine, quick=True, **more)


def pretend(monkeypatch: pytest.MonkeyPatch, name: str, folder: Path) -> Path:
    """Fill a store with made-up records for every job of an experiment, so that only the drawing is left."""

    def fill(name: str, request: Request, jobs: Any) -> Any:
        (request.out / "records").mkdir(parents=True, exist_ok=True)
        for job in jobs:
            made = synthetic.record(job.game, job.seed, milestones=job.milestones, setting=job.setting)
            store.write(request.out, replace(made, name=job.name, suite=job.suite, steps=job.steps))
        return real(name, replace(request, engine=NoEngine), jobs)

    real = suite.run_jobs
    monkeypatch.setattr(suite, "run_jobs", fill)
    monkeypatch.setattr(pace, "_measure", lambda jobs, plan: dict.fromkeys(jobs, 1234.0))
    path, _ = perform(registry.EXPERIMENTS[name], request(folder / name, games=GAMES, seeds=(0, 1), steps=100_000))
    return path


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("ablations", ["ablations"]),
        ("sensitivity", ["sensitivity_scores", "sensitivity_speed"]),
        ("ef", ["ef_scores", "ef_speed"]),
        ("discount", ["discount", "discount_freeway"]),
        ("clipping", ["clipping_learning", "clipping_scores"]),
        ("mfec", ["mfec_learning", "mfec_scores"]),
        ("long-run", ["long_run", "long_run_games"]),
        ("speed", ["speed"]),
        ("overview", ["overview"]),
    ],
)
def test_every_figure_and_table_is_drawn(
    name: str, figures: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pretend(monkeypatch, name, tmp_path)
    drawn = sorted(p.name for p in (path.parent / "figures").iterdir())
    assert drawn == sorted(f"{figure}.{kind}" for figure in figures for kind in ("png", "svg"))
    assert all((path.parent / "figures" / file).stat().st_size > 5000 for file in drawn)
    text = path.read_text()
    assert all(f"(figures/{figure}.png)" in text for figure in figures)
    assert "3" in text.split("What was run")[1]
    assert "No game has more than one run" not in text
    assert "several machines" not in text
    assert "\n|---|" in text
    assert "nan" not in text
    assert text.count("| 1,234 |") == PACED.get(name, 0)


def test_the_ablations_run_and_stand_beside_the_papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ablations, "QUICK", TINY)
    shown = [ablations.ABLATIONS[place] for place in (0, 2, 3, 4, -1)]
    monkeypatch.setattr(ablations, "ABLATIONS", shown)
    path, page = perform(registry.EXPERIMENTS["ablations"], request(tmp_path / "a"))
    assert page.failed == 0
    rows = [line for line in path.read_text().splitlines() if line.startswith(("| NAIT", "| DCT", "| native", "| tie"))]
    cells = {tuple(row.split(" | ")[:2]): row.split(" | ") for row in rows}
    assert cells["| native index", "KD-tree"][2] == "–"  # noqa: RUF001 (no score: it is run for its speed)
    assert float(cells["| native index", "KD-tree"][7].replace(",", "")) > 0
    assert cells["| native index", "KD-tree"][4:7] == cells["| NAIT", "–"][4:7] == ["–"] * 3  # noqa: RUF001
    assert cells["| DCT projection", "sparse"][3] == "0.281"
    ahead = float(cells["| tie-break", "uniform"][2]) - float(cells["| NAIT", "–"][2])  # noqa: RUF001
    assert float(cells["| tie-break", "uniform"][4]) == pytest.approx(ahead, abs=0.0011)  # of one game: no error
    assert cells["| tie-break", "uniform"][6] == f"{int(ahead > 0)} of 1"
    assert "No game has more than one run" in path.read_text()
    records = {record.setting: record for record in store.read(tmp_path / "a")}
    assert len(records) == len(ablations.ABLATIONS)
    assert records["representation=identity"].steps == 60
    assert records["tie_break=uniform"].steps == 200
    assert not list((tmp_path / "a" / "runs").glob("*/checkpoint.nait"))
    perform(registry.EXPERIMENTS["ablations"], request(tmp_path / "a", engine=NoEngine))


def test_a_variant_that_lacks_games_has_no_median_and_changes_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def median_of(column: str, text: str) -> str:
        return next(line for line in text.splitlines() if line.startswith(column)).split(" | ")[2]

    def boxes() -> list[str]:
        return re.findall(r"<!-- (\d+) -->", (tmp_path / "ef" / "figures" / "ef_scores.svg").read_text())

    whole = pretend(monkeypatch, "ef", tmp_path).read_text()
    assert boxes()[:6] == ["50", "200", "400", "50", "200", "400"]
    (tmp_path / "ef" / "records" / "Breakout-ef_search=50-s0.json").unlink()
    (tmp_path / "ef" / "records" / "Breakout-ef_search=50-s1.json").unlink()
    again = request(tmp_path / "ef", games=GAMES, seeds=(0, 1), steps=100_000, draw=True)
    monkeypatch.undo()
    part = perform(registry.EXPERIMENTS["ef"], again)[0].read_text()
    assert median_of("| efs | 50 |", whole) != median_of("| efs | 50 |", part) == "–"  # noqa: RUF001
    assert median_of("| efs | 400 |", whole) == median_of("| efs | 400 |", part)
    assert boxes()[:5] == ["200", "400", "50", "200", "400"]
    assert "of 2" in next(line for line in part.splitlines() if line.startswith("| efs | 50 |"))


def test_runs_of_two_machines_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "QUICK", TINY)
    perform(registry.EXPERIMENTS["clipping"], request(tmp_path))
    (record,) = (record for record in store.read(tmp_path) if record.setting)
    store.write(tmp_path, replace(record, machine={**record.machine, "cpu": "Babbage"}))
    path, _ = perform(registry.EXPERIMENTS["clipping"], request(tmp_path, engine=NoEngine))
    assert "several machines (" in path.read_text()
    assert "Babbage" in path.read_text()


def test_the_speed_of_a_slow_variant_is_that_of_its_last_thousand_steps(tmp_path: Path) -> None:
    """2,000 steps whose first half took 1 second and whose second took 10."""
    made = synthetic.record("MsPacman", 0, milestones=(2000,))
    curve = replace(made.curve, steps=(1000, 2000), score5=(None, 1.0), states=(1, 2), seconds=(1.0, 11.0))
    (tmp_path / "records").mkdir()
    store.write(tmp_path, replace(made, curve=curve))
    (column,) = columns_of([read_source(tmp_path)])
    slow, whole = ablations.ABLATIONS[-1], ablations.ABLATIONS[0]
    columns = {row.label: replace(column, label=row.label) for row in (slow, whole)}
    outcome = suite.Outcome(columns, "", [], 0)
    assert ablations._speed(slow, outcome) == 100.0
    assert ablations._speed(whole, outcome) == made.scores[0].itr_s
    assert ablations._speed(whole, replace(outcome, paces={whole.label: 7.0})) == 7.0  # side by side


def test_mfec_is_a_configuration_of_the_same_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "QUICK", TINY)
    path, _ = perform(registry.EXPERIMENTS["mfec"], request(tmp_path))
    (mfec,) = (record for record in store.read(tmp_path) if record.setting)
    assert (mfec.config["k"], mfec.config["state_dim"], mfec.config["update"]) == (11, 64, "monte_carlo")
    assert (mfec.config["alpha"], mfec.config["alpha_up"]) == (0, 1)
    assert mfec.config["epsilon"] == 0.005
    assert "alpha=0.0, alpha_up=1.0" in path.read_text()


def test_walltime_shows_every_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "WALL_QUICK", replace(TINY, steps=1000, seeds=2))
    path, _ = perform(registry.EXPERIMENTS["walltime"], request(tmp_path))
    svg = (tmp_path / "figures" / "walltime.svg").read_text()
    assert "nait, 2 runs" in svg
    assert "SPR after 100k steps" in svg
    assert "This machine:" in path.read_text()


def test_the_overview_takes_results_that_are_there(tmp_path: Path) -> None:
    results = Path(__file__).parents[2] / "results" / "preview" / "runs.csv"
    path, _ = perform(registry.EXPERIMENTS["overview"], request(tmp_path, engine=NoEngine, results=results))
    assert "26 games, seeds 0-1" in path.read_text()
    assert not (tmp_path / "records").exists()
    assert "SPR (augmented)" in (tmp_path / "figures" / "overview.svg").read_text()


def test_the_page_says_how_many_episodes_were_played(tmp_path: Path) -> None:
    """Fewer are asked for than the experiment has, and runs that are there already may have more."""
    variants = [Variant("nait"), Variant("sticky", {"sticky_actions": 0.25})]
    size = replace(TINY, episodes=2)
    first = suite.run_variants("s", request(tmp_path), variants[:1], size, size)
    assert "2 evaluation episodes a run" in first.description
    both = suite.run_variants("s", request(tmp_path, episodes=1), variants, size, size)
    assert "1-2 evaluation episodes a run" in both.description
    assert {record.setting: record.scores[-1].episodes for record in store.read(tmp_path)} == {
        "": 2,
        "sticky_actions=0.25": 1,
    }


def test_runs_in_common_are_done_once() -> None:
    """Experiments in one folder share the default agent's runs: every sweep has it under the same name."""
    axes = (sweeps.F, sweeps.LINKS, sweeps.K, sweeps.ALPHA, sweeps.EFS, sweeps.EFC, sweeps.GAMMA)
    for axis in axes:
        for quick in (False, True):
            variants = axis.variants(quick)
            made = [job.name for job in make_jobs(Suite("x", ("Pong",)), [0], [v.settings for v in variants])]
            assert "Pong-s0" in made
            assert len(made) == len(variants)


def test_whole_frames_are_known_to_need_more_memory() -> None:
    plain, sparse, reference, frames = (
        resources.needed_memory(make_jobs(Suite("x", ("Pong",)), [0], [settings], steps=1000)[0])
        for settings in ({}, {"representation": "sparse"}, {"index": "hnswlib"}, {"representation": "identity"})
    )
    assert plain == sparse < reference < frames
    assert frames > 1000 * 4 * 84 * 84 * 4


def test_an_interrupted_experiment_says_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite.Bench, "run", lambda self: False)
    with pytest.raises(Unfinished, match="2 of 2 runs are left"):
        perform(registry.EXPERIMENTS["clipping"], request(tmp_path, games=("Pong",), seeds=(0,), steps=100))
    assert not (tmp_path / "clipping.md").exists()


def test_what_is_there_is_drawn_without_running_anything(tmp_path: Path) -> None:
    few = request(tmp_path, engine=NoEngine, draw=True, games=GAMES, seeds=(0,), steps=100_000, episodes=10)
    with pytest.raises(NaitError, match="holds no benchmark"):
        perform(registry.EXPERIMENTS["sensitivity"], few)
    assert not any(tmp_path.iterdir())
    (tmp_path / "records").mkdir()
    for settings_ in ({}, {"k": 4}):
        for job in make_jobs(Suite("s", GAMES), [0], [settings_], episodes=10):
            made = synthetic.record(job.game, 0, milestones=job.milestones, setting=job.setting)
            store.write(tmp_path, replace(made, name=job.name, suite=job.suite, steps=job.steps))
    text = perform(registry.EXPERIMENTS["sensitivity"], few)[0].read_text()
    every = 1 + sum(len(axis.few) - 1 for axis in (sweeps.F, sweeps.LINKS, sweeps.K, sweeps.ALPHA))
    assert f"{len(GAMES) * (every - 2)} of {len(GAMES) * every} runs have not been made." in text
    rows = [line.removeprefix("| ").split(" | ")[:2] for line in text.split("---|\n")[-1].splitlines() if "|" in line]
    assert rows == [["k", "4"], ["k", "64 (the paper's)"]]  # the others have no more than the default
    assert (tmp_path / "figures" / "sensitivity_scores.png").exists()


def test_a_failed_run_is_told_and_the_others_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variants = [Variant("nait"), Variant("sticky", {"sticky_actions": 0.25})]
    jobs = [job for v in variants for job in make_jobs(Suite("s", ("MsPacman",)), [0], [v.settings], steps=200)]
    (tmp_path / "records").mkdir()
    good = synthetic.record("MsPacman", 0, milestones=(200,))
    store.write(tmp_path, replace(good, name=jobs[0].name))
    bad: Record = replace(synthetic.failed("MsPacman", 0, "no luck"), name=jobs[1].name, setting=jobs[1].setting)
    store.write(tmp_path, bad)
    size = replace(TINY, episodes=2)
    outcome = suite.run_variants("s", request(tmp_path, engine=NoEngine), variants, size, size)
    assert list(outcome.columns) == ["nait"]
    assert outcome.failed == 1
    assert any("no luck" in line for line in outcome.warnings)
    again = request(tmp_path, engine=lambda folder: InlineEngine(folder, retry_failed=True), retry_failed=True)
    outcome = suite.run_variants("s", again, variants, size, size)
    assert list(outcome.columns) == ["nait", "sticky"]
    assert outcome.failed == 0
