"""The report as sections of text, tables and figures, written as one HTML page and as Markdown."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources

import nait
from nait.experiments.suites import atari57
from nait.report import tables
from nait.report.figures import Picture
from nait.report.published import BUDGET, PAPER
from nait.report.results import Column
from nait.report.study import Study
from nait.report.tables import Table

TITLE = "nait: results"


@dataclass(frozen=True)
class Section:
    """A part of the report."""

    title: str
    texts: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    parts: list[Table | Picture] = field(default_factory=list)


def sections(study: Study, pictures: Sequence[Picture]) -> list[Section]:
    """In the order of reading; a section without content is left out."""
    drawn = {picture.name: picture for picture in pictures}
    found = [
        _runs(study),
        *_aggregates(study, drawn),
        Section(
            "Probability of improvement",
            ["How probably a run of X beats a run of Y on the same game, averaged over games; ties count half."],
            parts=[*_some(drawn, "improvement"), tables.improvement_table(study)],
        ),
        _games(study, drawn),
        _milestones(study),
        Section("Learning curves", parts=_some(drawn, "learning", "curves")),
        Section(
            "Speed",
            parts=[
                *_some(drawn, "walltime", "walltime_game"),
                *([tables.speed_table(study.columns)] if any(map(tables.speed_of, study.columns)) else []),
                tables.game_speed_table(study.columns),
            ],
        ),
        Section(
            "What differs between the columns",
            ["Configuration, settings of the games, versions, machine and commit that are not the same in all runs."],
            parts=[tables.differences_table(study.columns)],
        ),
        _published(),
    ]
    kept = []
    for section in found:
        parts = [part for part in section.parts if not isinstance(part, Table) or part.rows]
        if parts or section.warnings:
            kept.append(Section(section.title, section.texts, section.warnings, parts))
    return kept


def _runs(study: Study) -> Section:
    texts = [
        "Columns and rows marked \u201cours\u201d were run with nait and read from "
        + ", ".join(dict.fromkeys(str(column.path) for column in study.columns))
        + "; those marked \u201cpublished\u201d are other people's figures. HNS is the human-normalised score: "
        "0 is random play, 1 a human's."
    ]
    warnings = []
    for column in study.columns:
        warnings += _missing(column)
        warnings += [f"{column.label}: {run.game}, seed {run.seed} failed: {run.error}" for run in column.failed]
        warnings += _doubts(column)
    warnings += [f"Left out: {line}" for line in study.damaged]
    if not study.sets and any(game in atari57() for entry in study.entries for game in entry.scores):
        warnings.append("No game has a score in every column, so nothing is aggregated.")
    return Section("What was run", texts, warnings, [tables.runs_table(study.columns)])


def _missing(column: Column) -> list[str]:
    missing = column.missing()
    if not missing:
        return []
    whole = [game for game, seeds in missing.items() if seeds == column.seeds]
    lines = []
    if whole:
        lines.append(f"{column.label}: no score yet for {len(whole)} games: {', '.join(whole)}.")
    some = {game: seeds for game, seeds in missing.items() if game not in whole}
    if some:
        listed = ", ".join(f"{game} ({tables.ranges(seeds)})" for game, seeds in some.items())
        lines.append(f"{column.label}: no score yet for some seeds: {listed}.")
    return lines


def _doubts(column: Column) -> list[str]:
    """What a reader should know before comparing."""
    lines = []
    scores = column.scores()
    single = sum(len(runs) == 1 for runs in scores.values())
    if single and single == len(scores):
        lines.append(f"{column.label}: no game has more than a single run, so there are no intervals.")
    elif single:
        lines.append(
            f"{column.label}: games with a single run add nothing to the width of intervals, which are too narrow "
            f"then: {single} of {len(scores)}."
        )
    if column.budget not in (None, BUDGET):
        lines.append(
            f"{column.label}: scored after {column.budget:,} steps; the published methods after {BUDGET:,} steps."
        )
    return lines


def _aggregates(study: Study, drawn: dict[str, Picture]) -> list[Section]:
    found = []
    for number, (games, rows) in enumerate(study.sets):
        suffix = "" if number == 0 else "_57"
        texts = [
            "With 95 % intervals in brackets: percentiles of a bootstrap that draws runs with replacement within each "
            "game. The median and the mean are over the games' means, the IQM is the mean of the middle half of all "
            "runs, the optimality gap how far runs fall short of a human's score. Of methods that publish only the "
            "games' means, IQM and gap cannot be told."
        ]
        warnings = []
        if len(games.games) < len(games.wanted):
            warnings.append(f"Over {games.title} only, those with a score in every column; for all rows alike.")
        table = tables.aggregates_table(f"aggregates{suffix}", f"Aggregates over {games.title}", rows)
        parts = [*_some(drawn, f"aggregates{suffix}"), table, *_some(drawn, f"profiles{suffix}")]
        title = "Aggregates" if len(study.sets) == 1 else f"Aggregates, {games.name}"
        found.append(Section(title, texts if number == 0 else [], warnings, parts))
    return found


def _games(study: Study, drawn: dict[str, Picture]) -> Section:
    texts = [
        "Ours: the mean over seeds with its 95 % interval, and its HNS. "
        f"{PAPER}: means over 10 seeds. The other published methods: means of their runs after 100,000 steps."
    ]
    parts = [
        *_some(drawn, "games"),
        tables.games_table(study),
        tables.standing_table(study),
        tables.other_games_table(study),
    ]
    return Section("Scores by game", texts, parts=parts)


def _milestones(study: Study) -> Section:
    several = [column for column in study.columns if len(column.milestones) > 1]
    return Section("Milestones", parts=[tables.milestones_table(n, column) for n, column in enumerate(several, 1)])


def _published() -> Section:
    texts = [
        "Scores of random play, humans and the paper: Long, Blair and van Hoof, \u201cFast and Data Efficient "
        "Reinforcement Learning from Pixels via Non-Parametric Value Approximation\u201d, AAAI 2022. Single runs of "
        "the other methods: as published by the IRIS and DIAMOND projects with their own results.",
        "The medians and means that the paper prints for NAIT differ from those of its own rows. This page compares "
        "with the rows.",
    ]
    return Section("Published figures", texts, parts=[tables.recomputed_table(), tables.printed_table()])


def _some(drawn: dict[str, Picture], *names: str) -> list[Table | Picture]:
    return [drawn[name] for name in names if name in drawn]


def to_html(found: Sequence[Section]) -> str:
    """One page that needs nothing else."""
    links = "".join(f'<a href="#{_anchor(section.title)}">{_text(section.title)}</a>' for section in found)
    body = "\n".join(_section_html(section) for section in found)
    css = resources.files("nait.report").joinpath("data", "page.css").read_text()
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{TITLE}</title>\n<style>\n{css}</style>\n</head>\n<body>\n<header>\n<h1>{TITLE}</h1>\n"
        f'<p class="note">Made by nait {_text(nait.__version__)}. The tables are also in tables.md, the figures in '
        f"figures/ as PNG and SVG.</p>\n<nav>{links}</nav>\n</header>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def to_markdown(found: Sequence[Section], title: str = TITLE) -> str:
    """The same as text, with links to the figures' files."""
    lines = [f"# {_escaped(title)}", ""]
    for section in found:
        lines += [f"## {section.title}", ""]
        for text in section.texts:
            lines += [_escaped(text), ""]
        lines += [f"- **{_escaped(warning)}**" for warning in section.warnings]
        lines += [""] if section.warnings else []
        for part in section.parts:
            if isinstance(part, Table):
                lines += [f"### {_escaped(part.title)}", ""] if part.title != section.title else []
                lines += _table_markdown(part)
            else:
                lines += _picture_markdown(part)
    return "\n".join(lines).rstrip() + "\n"


def _section_html(section: Section) -> str:
    pieces = [f'<section id="{_anchor(section.title)}">', f"<h2>{_text(section.title)}</h2>"]
    pieces += [f"<p>{_text(text)}</p>" for text in section.texts]
    if section.warnings:
        listed = "".join(f"<li>{_text(warning)}</li>" for warning in section.warnings)
        pieces.append(f'<div class="warning"><ul>{listed}</ul></div>')
    for part in section.parts:
        if isinstance(part, Table):
            pieces += [f'<h3 id="table-{part.name}">{_text(part.title)}</h3>'] if part.title != section.title else []
            pieces.append(_table_html(part))
        else:
            pieces.append(_picture_html(part))
    return "\n".join([*pieces, "</section>"])


def _picture_html(picture: Picture) -> str:
    data = base64.b64encode(picture.svg).decode()
    alternative = html.escape(picture.caption, quote=True)
    return (
        f'<figure><img alt="{alternative}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{_text(picture.caption)}</figcaption></figure>"
    )


def _table_html(table: Table) -> str:
    heads = "".join(f'<th class="{kind}">{_tag(kind)}{_text(text)}</th>' for text, kind in table.headings)
    by_row = not any(kind for _, kind in table.headings)
    rows = []
    for kind, cells in table.rows:
        marked = []
        for place, ((_, column_kind), cell) in enumerate(zip(table.headings, cells, strict=True)):
            tag = _tag(kind) if by_row and place == 0 else ""
            marked.append(f'<td class="{column_kind}">{_text(cell)}{tag}</td>')
        rows.append(f'<tr class="{kind}">{"".join(marked)}</tr>')
    notes = "".join(f'<p class="note">{_text(note)}</p>' for note in table.notes)
    return (
        f'<div class="scroll"><table>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n" + "\n".join(rows) + f"\n</tbody></table></div>{notes}"
    )


def _tag(kind: str) -> str:
    return f'<span class="tag {kind}">{kind}</span>' if kind in (tables.OURS, tables.PUBLISHED) else ""


def _table_markdown(table: Table) -> list[str]:
    by_row = not any(kind for _, kind in table.headings)
    heads = [f"{kind}: {text}" if kind else text for text, kind in table.headings]
    rows = [[f"{kind}: {cells[0]}", *cells[1:]] if by_row and kind else cells for kind, cells in table.rows]
    lines = [_line(heads), "|" + "---|" * len(heads), *map(_line, rows), ""]
    for note in table.notes:
        lines += [_escaped(note), ""]
    return lines


def _picture_markdown(picture: Picture) -> list[str]:
    return [f"![{_escaped(picture.caption)}](figures/{picture.name}.png)", ""]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _escaped(text: str) -> str:
    """Nothing that Markdown would take for a table, a tag or a new line."""
    flat = " ".join(text.split())
    return flat.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("[", "\\[").replace("]", "\\]")


def _text(text: str) -> str:
    return html.escape(text, quote=False)


def _anchor(title: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in title.lower())
