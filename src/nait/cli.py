"""The command `nait`: train, eval, explain, games, report, speed, bench, paper."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, NoReturn

from tqdm import tqdm

import nait
from nait.config import Config, epsilon_text, parse_epsilon
from nait.envs import AtariSettings, is_game, make_env
from nait.errors import NaitError
from nait.experiments.bench import Bench, look, prepare
from nait.experiments.engines import Engine, LocalEngine
from nait.experiments.files import write_json
from nait.experiments.overview import Overview, plan_lines, tables
from nait.experiments.plan import find_suite, make_jobs, parse_grid, parse_seeds, suites
from nait.experiments.run import RunSettings, evaluate, open_run, train
from nait.experiments.speed import QUICK, QUICK_GAMES, Speed, SpeedSettings, mean, measure
from nait.experiments.store import read, write_csv
from nait.experiments.suites import BUDGETS, atari57, atari100k
from nait.experiments.video import check_video_path, record
from nait.progress import LINE_SECONDS

INTERRUPTED = 130  # what a shell expects of a program ended by Ctrl-C


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Exit with 2."""
        self.exit(2, f"{self.prog}: {message}; `{self.prog} --help` shows how\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        command: Callable[[argparse.Namespace], int] = options.command
        code = command(options)
        sys.stdout.flush()
        return code
    except NaitError as error:
        print(f"nait: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("nait: interrupted", file=sys.stderr)
        return INTERRUPTED


def _parser() -> Parser:
    parser = Parser(prog="nait", description=nait.__doc__)
    parser.add_argument("--version", action="version", version=f"nait {nait.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    training = _command(
        commands,
        "train",
        _train,
        "train an agent, then evaluate it",
        "nait train MsPacman --steps 100000 --seed 0",
    )
    training.add_argument("game", metavar="GAME", help="a game such as MsPacman (`nait games`), or any Gymnasium id")
    training.add_argument("--steps", type=int, default=100_000, help="interactions in all (default: 100000)")
    training.add_argument("--seed", type=int, default=0, help="of everything random (default: 0)")
    training.add_argument("--out", type=Path, help="the run's folder (default: runs/GAME-sSEED)")
    training.add_argument("--resume", action="store_true", help="go on from the folder's checkpoint, if it has one")
    training.add_argument("--checkpoint-every", type=int, default=10_000, metavar="N", help="steps (default: 10000)")
    training.add_argument(
        "--eval-episodes", type=int, default=50, metavar="N", help="after training; 0 for none (default: 50)"
    )
    training.add_argument("--quiet", action="store_true", help="no progress bar")
    training.add_argument("--json", action="store_true", help="print the result as one JSON object")
    _add_hyperparameters(training)
    _add_game_settings(training)

    evaluation = _command(
        commands,
        "eval",
        _eval,
        "play episodes with a trained agent",
        "nait eval runs/MsPacman-s0 --episodes 50 --video mspacman.mp4",
    )
    evaluation.add_argument("run", metavar="RUN", type=Path, help="a run's folder")
    evaluation.add_argument("--episodes", type=int, default=50, help="(default: 50)")
    _add_play(evaluation)
    evaluation.add_argument("--video", type=Path, metavar="FILE", help="also film one episode: .mp4 or .gif")
    evaluation.add_argument("--quiet", action="store_true", help="no progress bar")
    evaluation.add_argument("--json", action="store_true", help="print the result as one JSON object")

    why = _command(
        commands,
        "explain",
        _explain,
        "a picture of why a trained agent acts as it does at one moment of an episode",
        "nait explain runs/MsPacman-s0 --step 100 --out why.png",
    )
    why.add_argument("run", metavar="RUN", type=Path, help="a run's folder")
    why.add_argument("--step", type=int, default=100, help="the moment, in steps of a fresh episode (default: 100)")
    why.add_argument("--seed", type=int, default=0, help="of the episode (default: 0)")
    _add_play(why)
    why.add_argument("--out", type=Path, default=Path("why.png"), help="a .png, .svg or .pdf (default: why.png)")
    why.add_argument("--json", action="store_true", help="print the decision as one JSON object, without a picture")

    games = _command(
        commands,
        "games",
        _games,
        "the 57 games, the 26 of Atari 100k marked, with random, human and the paper's scores",
        "nait games --suite atari100k",
    )
    games.add_argument("--suite", choices=("atari57", "atari100k"), default="atari57", help="(default: atari57)")
    games.add_argument("--json", action="store_true", help="print them as one JSON list")

    report = _command(
        commands,
        "report",
        _report,
        "tables, figures and one HTML page of results, beside the paper's and the published methods'",
        "nait report results/atari100k --against SPR",
    )
    report.add_argument("results", metavar="DIR", nargs="+", type=Path, help="a folder of results, or a runs.csv file")
    report.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: DIR/report)")
    report.add_argument("--against", metavar="X", help="compare with this method (paper, SPR, ...) or folder alone")
    report.add_argument("--seed", type=int, default=0, help="of the bootstrap intervals (default: 0)")

    speed = _command(
        commands,
        "speed",
        _speed,
        "measure the emulator alone, the agent and the agent on hnswlib side by side, in one thread",
        "nait speed MsPacman Pong --states 30000",
    )
    speed.add_argument("games", metavar="GAME", nargs="*", help="such as MsPacman (default: the 26 of Atari 100k)")
    speed.add_argument("--quick", action="store_true", help="two games and a small memory: under a minute")
    speed.add_argument("--states", type=int, metavar="N", help="the memory to reach by play (default: 100000)")
    speed.add_argument("--steps", type=int, metavar="N", help="timed steps of each of the three (default: 2000)")
    speed.add_argument("--seed", type=int, help="of everything random (default: 0)")
    speed.add_argument("--json", action="store_true", help="print the result as one JSON object")

    benchmark = _command(
        commands,
        "bench",
        _bench,
        "run a suite of games and seeds, side by side and resumable, into one folder of results",
        "nait bench atari100k --seeds 10 --out bench/atari100k",
    )
    benchmark.add_argument("suite", metavar="SUITE", nargs="?", help=f"{', '.join(suites())}; or none, with --games")
    benchmark.add_argument("--games", default="", metavar="A,B", help="these games only; Gymnasium ids without a suite")
    benchmark.add_argument("--steps", type=int, metavar="N", help="of each run, up to 1000000 (default: the suite's)")
    benchmark.add_argument("--seeds", default="10", help="so many from 0, or a list such as 3,5-7 (default: 10)")
    benchmark.add_argument(
        "--episodes",
        type=int,
        default=50,
        metavar="N",
        help="of an evaluation, at 100k, 250k, 500k, 750k, 1M steps and at the end (default: 50)",
    )
    benchmark.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE,...",
        dest="grid",
        help="a hyperparameter or setting of the games; several values and several --set make a grid",
    )
    benchmark.add_argument("--out", type=Path, metavar="DIR", help="the results' folder (default: bench/SUITE)")
    benchmark.add_argument("--jobs", type=int, metavar="N", help="runs at the same time (default: one a core)")
    benchmark.add_argument("--engine", choices=("local", "ray"), default="local", help="(default: local)")
    benchmark.add_argument("--address", help="of a Ray cluster, such as auto (default: one is started here)")
    benchmark.add_argument("--retry-failed", action="store_true", help="try again what has failed before")
    benchmark.add_argument("--checkpoint-every", type=int, default=10_000, metavar="N", help="steps (default: 10000)")
    benchmark.add_argument(
        "--discard-checkpoints", action="store_true", help="of finished runs: saves disk, more --steps begin anew"
    )
    benchmark.add_argument("--csv", type=Path, metavar="FILE", help="also write one row a finished run and milestone")
    benchmark.add_argument("--dry-run", action="store_true", help="show what would run")

    paper = _command(
        commands,
        "paper",
        _paper,
        "one of the paper's experiments: its data, table and figure into a folder; a second call does what is missing",
        "nait paper kernels; nait paper ablations --quick; nait paper list",
    )
    paper.add_argument("name", metavar="NAME", help="of the experiment, or list, which names them all")
    paper.add_argument("--out", type=Path, metavar="DIR", help="(default: paper/NAME, or paper/NAME-quick)")
    paper.add_argument("--quick", action="store_true", help="a small version: a minute or two on two cores")
    paper.add_argument("--games", metavar="A,B", help="these games only")
    paper.add_argument("--seeds", help="so many from 0, or a list such as 3,5-7")
    paper.add_argument("--steps", type=int, metavar="N", help="of each run")
    paper.add_argument("--episodes", type=int, metavar="N", help="of each evaluation")
    paper.add_argument("--jobs", type=int, metavar="N", help="runs at the same time (default: one a core)")
    paper.add_argument("--engine", choices=("local", "ray"), help="processes here, or a Ray cluster (default: local)")
    paper.add_argument("--address", help="of a Ray cluster, such as auto (default: one is started here)")
    paper.add_argument("--results", type=Path, metavar="DIR", help="overview: of runs that are there, or a runs.csv")
    paper.add_argument("--retry-failed", action="store_true", help="try again what has failed before")
    paper.add_argument(
        "--draw", action="store_true", default=None, help="run nothing: draw what is there, and say how much is missing"
    )
    return parser


def _command(
    commands: Any, name: str, function: Callable[[argparse.Namespace], int], text: str, example: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=f"{text[0].upper()}{text[1:]}.", epilog=f"example: {example}"
    )
    parser.set_defaults(command=function)
    return parser


def _add_play(parser: argparse.ArgumentParser) -> None:
    choices = Config.__dataclass_fields__["play"].metadata["choices"]
    parser.add_argument(
        "--play", choices=choices, help="in states met before (default: the run's, see `nait train -h`)"
    )


def _add_hyperparameters(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("hyperparameters (the paper's symbol in brackets)")
    for entry in fields(Config):
        symbol = f" [{entry.metadata['symbol']}]" if entry.metadata["symbol"] else ""
        choices = entry.metadata["choices"]
        assert entry.default is not MISSING
        default = epsilon_text(entry.default) if entry.name == "epsilon" else entry.default
        group.add_argument(
            f"--{entry.name.replace('_', '-')}",
            dest=f"hyper_{entry.name}",
            type=parse_epsilon_argument if entry.name == "epsilon" else type(entry.default),
            choices=choices or None,
            metavar=None if choices else "X",
            help=f"{entry.metadata['text']}{symbol} (default: {default})",
        )


def _add_game_settings(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("settings of the Atari games (the paper's are the defaults)")
    for entry in fields(AtariSettings):
        if entry.name == "frame_stack":  # the hyperparameter of the same name serves both
            continue
        flag, target = f"--{entry.name.replace('_', '-')}", f"game_{entry.name}"
        assert entry.default is not MISSING
        text = f"{entry.metadata['text']} (default: {entry.default})"
        if isinstance(entry.default, bool):
            group.add_argument(flag, dest=target, action=argparse.BooleanOptionalAction, help=text)
        else:
            group.add_argument(flag, dest=target, type=type(entry.default), metavar="X", help=text)


def parse_epsilon_argument(text: str) -> Any:
    """For argparse, which shows only its own kind of error in full."""
    try:
        return parse_epsilon(text)
    except NaitError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _given(options: argparse.Namespace, prefix: str) -> dict[str, Any]:
    return {
        name.removeprefix(prefix): value
        for name, value in vars(options).items()
        if name.startswith(prefix) and value is not None
    }


def _train(options: argparse.Namespace) -> int:
    hyperparameters, game_settings = _given(options, "hyper_"), _given(options, "game_")
    if is_game(options.game) and "frame_stack" in hyperparameters:
        game_settings["frame_stack"] = hyperparameters["frame_stack"]
    settings = RunSettings(
        env=options.game, seed=options.seed, hyperparameters=hyperparameters, env_options=game_settings
    )
    folder = options.out or Path("runs") / f"{options.game.replace('/', '-')}-s{options.seed}"
    if options.eval_episodes < 0:
        raise NaitError(f"--eval-episodes must be at least 0, not {options.eval_episodes}")
    outcome = train(
        settings,
        folder,
        options.steps,
        resume=options.resume,
        checkpoint_every=options.checkpoint_every,
        progress=not options.quiet,
    )
    if not outcome.finished:
        print(
            f"nait: stopped at step {outcome.agent.num_timesteps}; the same command with --resume goes on",
            file=sys.stderr,
        )
        return INTERRUPTED
    result: dict[str, Any] = {
        "env": options.game,
        "seed": options.seed,
        "steps": outcome.agent.num_timesteps,
        "train_episodes": len(outcome.agent.episode_scores),
        "itr_s": round(outcome.itr_s, 1),
        "folder": str(folder),
    }
    if options.eval_episodes:
        evaluated = _evaluate(outcome.agent, settings, options.eval_episodes, options.quiet)
        write_json(folder / "eval.json", evaluated)
        result.update({name: evaluated[name] for name in ("score", "std", "episodes", "states", "distinct_states")})
    if options.json:
        print(json.dumps(result))
        return 0
    print(f"\n{options.game}: {outcome.agent.num_timesteps:,} steps at {outcome.itr_s:.0f} itr/s")
    if options.eval_episodes:
        _print_scores(options.game, outcome.agent.num_timesteps, result)
    command = sys.argv[0] if Path(sys.argv[0]).name == "nait" else "nait"
    print(f"\nThe run lies in {folder}. Next:")
    print(f"  {command} eval {folder} --video {options.game.replace('/', '-').lower()}.mp4   # watch it play")
    print(f"  {command} explain {folder} --out why.png   # see why it acts")
    print(f"  {command} train {options.game} --out {folder} --resume --steps {2 * options.steps}   # train on")
    return 0


def _open(options: argparse.Namespace) -> tuple[RunSettings, nait.NAIT]:
    settings, agent = open_run(options.run)
    if options.play is not None:
        agent.config = replace(agent.config, play=options.play)
    return settings, agent


def _eval(options: argparse.Namespace) -> int:
    if options.video is not None:
        check_video_path(options.video)
    settings, agent = _open(options)
    result = _evaluate(agent, settings, options.episodes, options.quiet)
    write_json(options.run / "eval.json", result)
    if options.video is not None:
        env = make_env(settings.env, render=True, **settings.env_options)
        result["video_score"] = record(agent, env, options.video, seed=settings.seed)
    if options.json:
        print(json.dumps(result))
        return 0
    _print_scores(settings.env, agent.num_timesteps, result)
    if options.video is not None:
        print(f"{options.video}: an episode of score {result['video_score']:g}")
    return 0


def _explain(options: argparse.Namespace) -> int:
    if options.step < 0:
        raise NaitError(f"--step must be at least 0, not {options.step}")
    from nait.report import explanation  # draws with matplotlib, whose import takes longer than most commands

    settings, agent = _open(options)
    env = make_env(settings.env, render=True, **settings.env_options)
    decision, screen = explanation.explain_moment(agent, env, options.step, options.seed)
    if options.json:
        print(json.dumps(_decision_json(decision)))
        return 0
    title = f"{settings.env} after {agent.num_timesteps:,} steps of training, step {options.step} of an episode"
    explanation.save(explanation.draw(decision, screen, agent, title), options.out)
    chosen = decision.actions[decision.action]
    value = f"value {chosen.value:.1f}" if math.isfinite(chosen.value) else "tried too seldom to be judged"
    print(f"it takes {chosen.name} ({value}); {options.out} shows why")
    return 0


def _decision_json(decision: nait.Decision) -> dict[str, Any]:
    return {
        "action": decision.action,
        "actions": [
            {
                "action": action.action,
                "name": action.name,
                "value": action.value if math.isfinite(action.value) else None,
                "distance": action.distance if math.isfinite(action.distance) else None,
                "exact": action.exact,
                "neighbours": [
                    {name: getattr(n, name) for name in ("episode", "step", "distance", "weight", "value")}
                    for n in action.neighbours
                ],
            }
            for action in decision.actions
        ],
    }


def _evaluate(agent: nait.NAIT, settings: RunSettings, episodes: int, quiet: bool) -> dict[str, Any]:
    live = sys.stderr.isatty()
    told = time.monotonic()
    with tqdm(total=episodes, unit="episode", desc="evaluation", disable=quiet or not live) as bar:

        def show(done: int, score: float) -> None:
            nonlocal told
            bar.set_postfix_str(f"last score {score:g}", refresh=False)
            bar.update(done - bar.n)
            if not (live or quiet) and time.monotonic() - told >= LINE_SECONDS:
                told = time.monotonic()
                print(f"evaluation: {done} of {episodes} episodes, last score {score:g}", file=sys.stderr, flush=True)

        return evaluate(agent, settings, episodes, show)


def _print_scores(name: str, steps: int, result: dict[str, Any]) -> None:
    print(f"  score    {result['score']:10.1f}   (mean of {result['episodes']} episodes, std {result['std']:.1f})")
    game = atari57().get(name)
    if game is None:
        return
    print(f"  random   {game.random:10.1f}")
    print(f"  human    {game.human:10.1f}   (human-normalised score {game.normalised(result['score']):.3f})")
    for budget, score in game.paper.items():
        if budget == 100_000 or budget <= steps:
            print(f"  paper    {score:10.1f}   (after {budget:,} steps)")


def _games(options: argparse.Namespace) -> int:
    games = [game for game in atari57().values() if options.suite == "atari57" or game.in_atari100k]
    if options.json:
        rows = [
            {
                "game": game.name,
                "in_atari100k": game.in_atari100k,
                "random": game.random,
                "human": game.human,
                "paper": {str(budget): score for budget, score in game.paper.items()},
            }
            for game in games
        ]
        print(json.dumps(rows))
        return 0
    shown = [f"paper {column.removeprefix('nait_')}" for column in BUDGETS.values()]
    print(f"{'game':<18}{'100k':<6}{'random':>10}{'human':>10}" + "".join(f"{title:>12}" for title in shown))
    for game in games:
        paper = "".join(f"{game.paper[b]:>12.1f}" if b in game.paper else f"{'-':>12}" for b in BUDGETS)
        mark = "*" if game.in_atari100k else ""
        print(f"{game.name:<18}{mark:<6}{game.random:>10.1f}{game.human:>10.1f}{paper}")
    return 0


def _report(options: argparse.Namespace) -> int:
    from nait.report.write import write_report  # for matplotlib's sake, as above

    page, told = write_report(options.results, options.out, options.against, options.seed)
    for games, rows in told.sets:
        for row in rows:
            if row.entry.ours and not row.extra:
                found = ", ".join(f"{name} {e.value:.3f}" for name, e in row.estimates.items() if e is not None)
                print(f"{row.entry.label}: {found} (HNS over {games.title})")
    missing = sum(len(seeds) for column in told.columns for seeds in column.missing().values())
    failed = sum(len(column.failed) for column in told.columns)
    if missing or failed or told.damaged:
        print(f"not all is there: {missing} runs missing, {failed} failed, {len(told.damaged)} records damaged")
    print(f"{page} shows it all")
    return 0


SPEED_COLUMNS = {
    "emulator_itr_s": ("emulator", ".0f"),
    "nait_itr_s": ("nait", ".0f"),
    "reference_itr_s": ("hnswlib", ".0f"),
    "of_emulator": ("of emulator", ".2f"),
    "over_reference": ("over hnswlib", ".2f"),
    "recall": ("recall", ".4f"),
    "reference_recall": ("hnswlib's", ".4f"),
    "bytes_per_state": ("bytes", ".0f"),
    "reference_bytes_per_state": ("hnswlib's", ".0f"),
    "states": ("states", ".0f"),
}


def _speed(options: argparse.Namespace) -> int:
    given = {name: getattr(options, name) for name in ("states", "steps", "seed") if getattr(options, name) is not None}
    settings = replace(QUICK if options.quick else SpeedSettings(), **given)
    games = options.games or (QUICK_GAMES if options.quick else tuple(atari100k()))
    measuring = measure(games, settings)
    if not options.json:
        print(f"{'game':<16}" + "".join(f"{title:>13}" for title, _ in SPEED_COLUMNS.values()), flush=True)
    measured: list[tuple[str, Speed]] = []
    for number, game in enumerate(games, 1):
        print(f"nait: {game}, {number} of {len(games)}, to {settings.states:,} states", file=sys.stderr, flush=True)
        measured.append(next(measuring))
        if not options.json:
            _print_speed(*measured[-1])
    average = mean([speed for _, speed in measured])
    if options.json:
        rows = [{"game": game, **speed.to_json()} for game, speed in measured]
        print(json.dumps({"games": rows, "mean": average.to_json()}))
    else:
        _print_speed("mean", average)
    return 0


def _print_speed(name: str, speed: Speed) -> None:
    values = {column: getattr(speed, column) for column in SPEED_COLUMNS}
    cells = ("-" if values[c] is None else format(values[c], form) for c, (_, form) in SPEED_COLUMNS.items())
    print(f"{name:<16}" + "".join(f"{cell:>13}" for cell in cells), flush=True)


def _bench(options: argparse.Namespace) -> int:
    suite = find_suite(options.suite, [game for game in options.games.split(",") if game])
    jobs = make_jobs(
        suite,
        parse_seeds(options.seeds),
        parse_grid(options.grid),
        steps=options.steps,
        episodes=options.episodes,
        checkpoint_every=options.checkpoint_every,
        keep_checkpoints=not options.discard_checkpoints,
    )
    _check_engine(options)
    if options.csv is not None and not options.csv.absolute().parent.is_dir():
        raise NaitError(f"there is no folder {options.csv.parent} for {options.csv.name}")
    folder = options.out or Path("bench") / suite.name
    overview = Overview(folder, suite.name)
    standing = look(folder, jobs, retry_failed=options.retry_failed, tell=overview.note, mend=not options.dry_run)
    if options.dry_run:
        print("\n".join(plan_lines(standing, folder)))
        return 0
    for name, error in standing.failed.items():
        overview.note(f"{name} has failed before: {error}")
    prepare(folder)
    ended = Bench(folder, standing, _engine(options, folder), overview).run() if standing.open() else True
    if standing.done:
        print("\n".join(tables(standing)))
    if options.csv is not None:
        rows = write_csv(options.csv, read(folder))
        print(f"{options.csv}: {rows} rows, one for each score of the runs finished in {folder}")
    if not ended:
        print(
            f"nait: stopped with {len(standing.open())} of {len(jobs)} runs left; the same command goes on",
            file=sys.stderr,
        )
        return INTERRUPTED
    if standing.failed:
        print(
            f"nait: {len(standing.failed)} of {len(jobs)} runs failed; error.log in a run's folder says more, "
            "--retry-failed tries them again",
            file=sys.stderr,
        )
        return 1
    print(f"\nThe results lie in {folder}.")
    return 0


def _check_engine(options: argparse.Namespace) -> None:
    if options.jobs is not None and options.jobs < 1:
        raise NaitError(f"--jobs must be at least 1, not {options.jobs}")
    if options.address is not None and options.engine != "ray":
        raise NaitError("--address is that of a Ray cluster: add --engine ray")


def _engine(options: argparse.Namespace, folder: Path) -> Engine:
    if options.engine in (None, "local"):
        return LocalEngine(folder, options.jobs, options.retry_failed)
    from nait.experiments.ray_engine import RayEngine

    return RayEngine(folder, options.jobs, options.retry_failed, options.address)


PAPER_OPTIONS = ("games", "seeds", "steps", "episodes", "jobs", "engine", "results", "draw")


def _paper(options: argparse.Namespace) -> int:
    from nait.paper import registry  # for matplotlib's sake, as above
    from nait.paper.experiment import Request, Unfinished, perform

    if options.name == registry.LIST:
        print("\n".join(registry.listed()))
        return 0
    experiment = registry.find(options.name, [name for name in PAPER_OPTIONS if getattr(options, name) is not None])
    _check_engine(options)
    for name in ("steps", "episodes"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise NaitError(f"--{name} must be at least 1, not {value}")
    request = Request(
        out=options.out or Path("paper") / f"{options.name}{'-quick' if options.quick else ''}",
        engine=lambda folder: _engine(options, folder),
        quick=options.quick,
        retry_failed=options.retry_failed,
        games=tuple(game for game in (options.games or "").split(",") if game),
        seeds=parse_seeds(options.seeds) if options.seeds is not None else (),
        steps=options.steps,
        episodes=options.episodes,
        results=options.results,
        draw=bool(options.draw),
    )
    try:
        path, page = perform(experiment, request)
    except Unfinished as left:
        print(f"nait: stopped: {left}; the same command goes on", file=sys.stderr)
        return INTERRUPTED
    print(f"{path} shows it; the figures are in {request.out / 'figures'}")
    if page.failed:
        print(
            f"nait: {page.failed} runs failed; {path} and their error.log say more, --retry-failed tries them again",
            file=sys.stderr,
        )
    return 1 if page.failed else 0
