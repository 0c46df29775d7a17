from __future__ import annotations

import base64
import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import cv2
import numpy as np
import pytest
from mistakes import check_mistake
from synthetic import change, damage, failed, record, suite

import nait.report.write
from nait.cli import main
from nait.experiments.store import write
from nait.experiments.suites import atari57, atari100k
from nait.report import comparison, published, tables
from nait.report.aggregates import aggregate
from nait.report.figures import curves
from nait.report.page import sections, to_html, to_markdown
from nait.report.results import columns_of, read_source
from nait.report.study import study
from nait.report.write import write_report

PREVIEW = Path(__file__).parents[2] / "results" / "preview" / "runs.csv"
FEW = ["Boxing", "Krull", "MsPacman", "Pong"]
VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """Checks that what is opened is closed, and keeps what a test asks for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.faults: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids += [found["id"]] if found.get("id") else []
        self.links += [found["href"]] if found.get("href") else []
        self.sources += [found["src"]] if found.get("src") else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)


def page(folder: Path) -> Page:
    return Page((folder / "index.html").read_text())


def told(*paths: Path) -> tuple[Page, str]:
    """The page and the Markdown without figures, which take long to draw."""
    parts = sections(study(paths), [])
    return Page(to_html(parts)), to_markdown(parts)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command without figures."""
    monkeypatch.setattr(nait.report.write, "pictures", lambda study: [])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole suite: 26 games, three seeds."""
    return suite(tmp_path_factory.mktemp("suite"))


def test_the_page_of_a_whole_suite(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Well formed, in need of nothing else, with every figure also as a file."""
    assert main(["report", str(whole), "--out", str(tmp_path)]) == 0
    assert f"{tmp_path}/index.html shows it all" in capsys.readouterr().out
    text = (tmp_path / "index.html").read_text()
    found = Page(text)
    assert found.faults == []
    assert found.open == []
    assert len(found.ids) == len(set(found.ids))
    assert {link.removeprefix("#") for link in found.links} <= set(found.ids)
    assert len(found.sources) == 8
    assert all(source.startswith("data:image/svg+xml;base64,") for source in found.sources)
    assert not re.search(r"<script|<link|@import|url\(|(src|href)=.https?:", text)
    drawings = [base64.b64decode(source.partition(",")[2]) for source in found.sources]
    for drawing in drawings:
        assert ElementTree.fromstring(drawing).tag.endswith("svg")
    names = ("aggregates", "profiles", "improvement", "games", "learning", "curves", "walltime", "walltime_game")
    files = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert files == sorted(f"{name}.{kind}" for name in names for kind in ("png", "svg"))
    assert sorted(drawings) == sorted(path.read_bytes() for path in (tmp_path / "figures").glob("*.svg"))
    for name in names:
        image = cv2.imread(str(tmp_path / "figures" / f"{name}.png"))
        assert image is not None
        assert min(image.shape[:2]) > 300
        assert image.std() > 10


def test_ours_and_published_are_marked(whole: Path) -> None:
    found = study([whole])
    text, html = to_markdown(sections(found, [])), to_html(sections(found, []))
    assert "| game | published: random | published: human | ours: nait | ours: HNS | published: NAIT (paper) |" in text
    assert "| ours: nait | 3 |" in text
    assert "| published: SPR | 100 | 0.396 " in text
    assert '<tr class="ours"><td class="">nait<span class="tag ours">ours</span></td>' in html
    assert '<tr class="published"><td class="">SPR<span class="tag published">published</span></td>' in html


def test_the_tables_hold_the_scores(whole: Path) -> None:
    scores = [record("MsPacman", seed).scores[0].score for seed in range(3)]
    rows = {cells[0]: cells for _, cells in tables.games_table(study([whole])).rows}
    assert list(rows) == list(atari100k())
    cells = rows["MsPacman"]
    assert cells[:3] == ["MsPacman", "307.3", "6,952"]
    assert cells[3].startswith(f"{np.mean(scores):,.0f} [")
    assert cells[4] == f"{atari57()['MsPacman'].normalised(float(np.mean(scores))):.2f}"
    assert cells[5:7] == ["2,579", "0.34"]


def test_games_are_counted_that_reach_the_paper(tmp_path: Path) -> None:
    """Ms. Pac-Man by its mean, Pong by its interval alone, Boxing (5.1 in the paper) not at all."""
    scores = {"MsPacman": (3000, 3200), "Pong": (-21, -6), "Boxing": (0, 0.5)}
    rows = [f"{game},{seed},100000,{score}" for game, both in scores.items() for seed, score in enumerate(both)]
    (tmp_path / "runs.csv").write_text("\n".join(["game,seed,steps,score", *rows]) + "\n")
    ((kind, cells),) = tables.standing_table(study([tmp_path / "runs.csv"])).rows
    assert (kind, cells) == (tables.OURS, ["nait", "1", "1", "1", "Boxing"])


def test_the_same_results_make_the_same_files(tmp_path: Path) -> None:
    folder = suite(tmp_path / "runs", games=["Pong"], seeds=2)
    first, _ = write_report([folder], tmp_path / "a")
    second, _ = write_report([folder], tmp_path / "b")
    files = sorted(path.relative_to(first.parent) for path in first.parent.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(second.parent) for path in second.parent.rglob("*") if path.is_file())
    for path in files:
        assert (first.parent / path).read_bytes() == (second.parent / path).read_bytes(), path
    assert not list(tmp_path.rglob("*.tmp"))


def test_the_paper_s_aggregates_are_recomputed_from_its_rows() -> None:
    found = {(row.games, row.budget): row for row in comparison.paper_recomputed()}
    first = found[26, 100_000]
    assert (first.printed_median, first.printed_mean) == (0.3121, 0.3623)
    assert (first.median, first.mean) == pytest.approx((0.323, 0.366), abs=5e-4)
    expected = {
        (26, 250_000): (0.3962, 0.5372),
        (26, 500_000): (0.5246, 0.7141),
        (26, 750_000): (0.6090, 0.8087),
        (26, 1_000_000): (0.6360, 0.9205),
        (56, 100_000): (0.1802, 0.3654),
        (56, 1_000_000): (0.5308, 0.8286),
    }
    for key, values in expected.items():
        assert (found[key].median, found[key].mean) == pytest.approx(values, abs=5e-5)
    for row in found.values():
        assert abs(row.mean - row.printed_mean) < 0.02


def test_the_paper_s_aggregates_are_in_the_page_and_in_the_documents(whole: Path) -> None:
    table = tables.recomputed_table()
    document = (Path(__file__).parents[2] / "docs" / "report.md").read_text()
    shown = told(whole)[0].text
    for _, cells in table.rows:
        assert " ".join(cells) in shown
        assert f"| {' | '.join(cells)} |" in document


@pytest.mark.usefixtures("undrawn")
def test_a_partly_finished_suite_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = suite(tmp_path, games=list(atari100k())[:5])
    (folder / "records" / "Alien-s2.json").unlink()
    write(folder, failed("Assault", 1, "MemoryError: <no space>"))
    damage(folder, "Amidar-s0", '{"format": 1, "na')
    assert main(["report", str(folder)]) == 0
    assert "66 runs missing, 1 failed, 1 records damaged" in capsys.readouterr().out
    found = page(folder / "report")
    assert found.faults == []
    assert "no score yet for 21 games: BattleZone, Boxing, Breakout," in found.text
    assert "no score yet for some seeds: Alien (2), Amidar (0), Assault (1)." in found.text
    assert "Assault, seed 1 failed: MemoryError: <no space>" in found.text
    assert "Amidar-s0.json is damaged: it is not a whole record" in found.text
    assert "Aggregates over 5 of the 26 games of Atari 100k" in found.text
    assert "MemoryError: &lt;no space>" in (folder / "report" / "tables.md").read_text()


def test_a_suite_of_failures_alone_is_shown(tmp_path: Path) -> None:
    folder = suite(tmp_path, games=["Pong"], seeds=1)
    write(folder, failed("Pong", 0, "KeyError: 'rom'"))
    write_report([folder])
    found = page(folder / "report")
    assert "Pong, seed 0 failed: KeyError: 'rom'" in found.text
    assert found.faults == []


@pytest.mark.parametrize("odd", [None, True, -1, 0.5, float("inf"), "text", [], [[1]], {}, {"a": [1]}], ids=repr)
def test_no_odd_value_in_a_record_stops_the_report(odd: object, tmp_path: Path) -> None:
    folder = suite(tmp_path, games=["Pong"], seeds=2)
    good = record("Pong", 0).to_json()
    for place, name in enumerate(good):
        damage(folder, f"odd{place}", json.dumps({**good, "name": f"odd{place}", "seed": 10 + place, name: odd}))
    for place, name in enumerate(good["scores"][0], 100):
        scores = [{**good["scores"][0], name: odd}]
        damage(folder, f"odd{place}", json.dumps({**good, "name": f"odd{place}", "seed": place, "scores": scores}))
    for place, name in enumerate(good["curve"], 200):
        curve = {**good["curve"], name: odd}
        damage(folder, f"odd{place}", json.dumps({**good, "name": f"odd{place}", "seed": place, "curve": curve}))
    found, _ = told(folder)
    assert found.faults == []
    (column,) = [column for column in study([folder]).columns if column.setting == "" and "Pong" in column.games()][:1]
    assert {0, 1} <= {run.seed for run in column.done}
    assert curves(study([folder])) is not None


def test_several_columns_stand_side_by_side(tmp_path: Path) -> None:
    old = suite(tmp_path / "old", games=FEW)
    new = suite(tmp_path / "new", games=FEW[:3], settings=("", "k=16"), commit="fedcba9", speed=2000)
    _, text = told(old, new)
    assert "| game | published: random | published: human | ours: old | ours: HNS | ours: new: default |" in text
    assert "|  | ours: old | ours: new: default | ours: new: k=16 |" in text
    assert "| commit | 0123abc | fedcba9 | fedcba9 |" in text
    assert "| k | 64 | 64 | 16 |" in text
    assert "| ours: old, all its 4 games | 3 |" in text
    assert "Over 3 of the 26 games of Atari 100k only" in text


def test_against_a_method_or_a_folder(tmp_path: Path) -> None:
    better, worse = suite(tmp_path / "better", games=FEW, better=3.0), suite(tmp_path / "worse", games=FEW, better=0.1)
    (one,) = study([better], "spr").improvements
    assert (one.ours, one.other.label, one.games) == ("nait", "SPR", 4)
    (two,) = study([better], str(worse)).improvements
    assert (two.ours, two.other.label) == ("better", "worse")
    assert two.estimate.value > 0.9
    (three,) = study([better, worse], str(better)).improvements
    assert three.ours == "worse"
    assert three.estimate.value == pytest.approx(1 - two.estimate.value)
    everyone = study([better]).improvements
    assert [found.other.label for found in everyone] == [published.PAPER, *comparison.IN_TIME]


def test_milestones_stand_beside_the_paper_s(tmp_path: Path) -> None:
    folder = suite(tmp_path, games=["MsPacman", "Surround"], suite="", milestones=(100_000, 250_000, 1_000_000))
    lines = told(folder)[1].splitlines()
    assert "| game | ours: nait 100k | published: paper 100k | ours: nait 250k | published: paper 250k |" in " ".join(
        lines
    )
    scores = columns_of([read_source(folder)])[0].scores(1_000_000)["MsPacman"]
    row = next(line for line in lines if line.startswith("| MsPacman |") and line.count("|") == 8)
    assert row.endswith(f"| {np.mean(scores):,.0f} | 3,765 |")
    assert [line for line in lines if line.startswith("| Surround |") and line.count("\u2013") == 3]
    paper = [f"{atari57()['MsPacman'].normalised(score):.3f}" for score in (2579.2, 2951.15, 3764.7)]
    foot = next(line for line in lines if line.startswith("| median HNS, 26 games |"))
    cells = [cell.strip() for cell in foot.strip("|").split("|")]
    assert cells[2::2] == paper
    mine = aggregate([np.array([atari57()["MsPacman"].normalised(score) for score in scores])])["median"]
    assert cells[5].replace("\\", "") == f"{mine.value:.3f} [{mine.low:.3f}, {mine.high:.3f}]"


def test_a_table_of_runs_makes_a_page_without_curves(tmp_path: Path) -> None:
    written, _ = write_report([PREVIEW], tmp_path / "out")
    assert not (tmp_path / "out" / "figures" / "curves.png").exists()
    found = page(written.parent)
    assert "Learning curves" not in found.text
    assert "which are too narrow then: 9 of 26." in found.text
    assert "6,030 [710, 11,350]" in found.text  # RoadRunner: two runs


def test_other_environments_have_a_table_of_their_own(tmp_path: Path) -> None:
    folder = suite(tmp_path, games=["nait/ImageRandomWalk-v0"], suite="random-walk", milestones=(5000,))
    write_report([folder])
    found = page(folder / "report")
    assert "Other environments" in found.text
    assert "nait/ImageRandomWalk-v0" in found.text
    assert "Aggregates" not in found.text
    assert (folder / "report" / "figures" / "curves.png").exists()


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    """No name of a folder, setting or machine is taken for markup or mathematics."""
    folder = suite(tmp_path / "a<b>$x_1$|c", games=["Pong"])
    for seed in range(3):
        change(folder, f"Pong-s{seed}", setting="kernel=<i>$\\frac$", error="|", commit=f"c|{seed}")
    write_report([folder, suite(tmp_path / "other", games=["Pong"])], tmp_path / "out")
    found = page(tmp_path / "out")
    assert found.faults == []
    assert "a<b>$x_1$|c: kernel=<i>$\\frac$" in found.text
    row = next(
        line for line in (tmp_path / "out" / "tables.md").read_text().splitlines() if line.startswith("| commit")
    )
    assert len(re.findall(r"(?<!\\)\|", row)) == 4


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "there is no nowhere"),
        (["empty"], "`nait bench"),
        (["runs", "--against", "SPQR"], "SPQR is neither a folder nor one of the published methods: paper, SPR"),
        (["runs", "--seed", "-1"], "seed must be at least 0"),
        (["runs", "--out", "file/there"], "cannot write into"),
        ([], "the following arguments are required: DIR"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_answered_in_one_line(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    suite(tmp_path / "runs", games=["Pong"], seeds=1)
    before = sorted(tmp_path.rglob("*"))
    check_mistake(["report", *arguments], said, capsys)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("undrawn")
def test_a_disk_that_is_full_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = suite(tmp_path / "runs", games=["Pong"], seeds=1)

    def full(path: Path, content: bytes) -> int:
        with path.open("wb") as file:
            file.write(content[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ValueError, match="No space left on device"):
        write_report([folder], tmp_path / "out")
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == []


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["report", "--help"])
    assert exit_.value.code == 0
    assert "example: nait report results/atari100k --against SPR" in " ".join(capsys.readouterr().out.split())
