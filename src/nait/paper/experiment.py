"""What an experiment is, what a user may ask of it, and the page that comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from nait.experiments.engines import Engine
from nait.report.figures import Picture
from nait.report.page import Section, to_markdown
from nait.report.write import picture_files, put

SUITE_OPTIONS = ("games", "seeds", "steps", "episodes", "jobs", "engine", "draw")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a user asks for; whatever is left out is the experiment's own."""

    out: Path
    """The folder of the data, the tables and the figures."""
    engine: Callable[[Path], Engine]
    """Makes what runs the jobs of a store."""
    quick: bool = False
    retry_failed: bool = False
    """Of runs that ended so in an earlier call."""
    games: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    steps: int | None = None
    episodes: int | None = None
    """Of each evaluation."""
    results: Path | None = None
    """Runs that are there already: a folder of `nait bench`, or a runs.csv file."""
    draw: bool = False
    """Nothing is to be run; the page is made of what `out` holds."""


@dataclass(frozen=True)
class Page:
    """What an experiment has to tell."""

    sections: list[Section]
    files: dict[str, bytes] = field(default_factory=dict)
    """Its data by file name, where the store does not hold them."""
    failed: int = 0
    """Runs without a result."""

    @property
    def pictures(self) -> list[Picture]:
        """All figures."""
        return [part for section in self.sections for part in section.parts if isinstance(part, Picture)]


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of the paper."""

    name: str
    shows: str
    """In one line."""
    takes: str
    """How long, in full."""
    make: Callable[[Request], Page]
    """Does what is missing, and draws; mistakes are told before anything is written."""
    options: tuple[str, ...] = SUITE_OPTIONS
    """Of the command's, those that mean something here."""


class Unfinished(Exception):  # noqa: N818 (no error)
    """Somebody stopped it; what was done is on the disk."""


def perform(experiment: Experiment, request: Request) -> tuple[Path, Page]:
    """Run an experiment and write its page, figures and data; returns the page's path with it."""
    page = experiment.make(request)
    name = f"{experiment.name}.md"
    text = to_markdown(page.sections, f"nait paper {experiment.name}: {experiment.shows}")
    put(request.out, {**picture_files(page.pictures), **page.files, name: text.encode()})
    return request.out / name, page
