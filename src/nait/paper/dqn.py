"""A DQN on the random walk: Stable-Baselines3's (`pip install "nait[dqn]"`), beside which NAIT is shown."""

from __future__ import annotations

import importlib
import json
from dataclasses import asdict, dataclass
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np

from nait.envs import make_env
from nait.errors import NaitError
from nait.experiments.files import write_json
from nait.experiments.plan import RANDOM_WALK
from nait.experiments.run import make_folder

INSTALL = 'pip install "nait[dqn]"'

# See docs/paper.md for the values that were tried.
SETTINGS: dict[str, Any] = {
    "learning_rate": 1e-3,
    "buffer_size": 10_000,
    "learning_starts": 100,
    "batch_size": 64,
    "train_freq": 1,
    "target_update_interval": 100,
    "policy_kwargs": {"net_arch": [64, 64]},
}


@dataclass(frozen=True)
class Trained:
    """What came of one DQN."""

    steps: list[int]
    """At which each episode ended."""
    scores: list[float]
    """Of each episode."""
    values: list[list[float]]
    """Q of each of the sights that it was asked about, an action a column."""


def installed() -> bool:
    """Whether the extra is there."""
    return util.find_spec("stable_baselines3") is not None and util.find_spec("torch") is not None


def trained(
    folder: Path, seed: int, steps: int, gamma: float, epsilon: tuple[float, float, int], sights: np.ndarray[Any, Any]
) -> Trained:
    """Train one, or read it from the file of an earlier call with the same settings.

    :param sights: observations whose values are asked for at the end
    """
    path = folder / f"s{seed}.json"
    wanted = json.loads(
        json.dumps({"seed": seed, "steps": steps, "gamma": gamma, "epsilon": epsilon, "settings": SETTINGS})
    )
    try:
        data = json.loads(path.read_bytes())
        if {name: data[name] for name in wanted} == wanted:
            return Trained(**data["trained"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # absent or damaged: it is made anew
    found = train(seed, steps, gamma, epsilon, sights)
    make_folder(folder)
    versions = {name: metadata.version(name) for name in ("stable-baselines3", "torch")}
    try:
        write_json(path, {**wanted, "versions": versions, "trained": asdict(found)}, indent=None)
    except OSError as error:
        raise NaitError(f"cannot write into {folder}: {error.strerror or error}") from None
    return found


def train(
    seed: int, steps: int, gamma: float, epsilon: tuple[float, float, int], sights: np.ndarray[Any, Any]
) -> Trained:
    """Train one in a single thread."""
    torch: Any = importlib.import_module("torch")
    sb3: Any = importlib.import_module("stable_baselines3")
    monitor: Any = importlib.import_module("stable_baselines3.common.monitor")
    torch.set_num_threads(1)
    start, end, decay = epsilon
    env = monitor.Monitor(make_env(RANDOM_WALK))
    model = sb3.DQN(
        "MlpPolicy",
        env,
        gamma=gamma,
        exploration_initial_eps=start,
        exploration_final_eps=end,
        exploration_fraction=decay / steps,
        seed=seed,
        device="cpu",
        **SETTINGS,
    )
    model.learn(steps)
    with torch.no_grad():
        values = model.q_net(torch.as_tensor(sights)).numpy()
    ends = np.cumsum(env.get_episode_lengths())
    return Trained(ends.tolist(), [float(r) for r in env.get_episode_rewards()], values.astype(float).tolist())
