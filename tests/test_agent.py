from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from numpy.typing import NDArray

import nait
from nait.errors import NaitError
from nait.memory import hash_of


def same_memory(a: nait.NAIT, b: nait.NAIT, but: tuple[str, ...] = ()) -> None:
    saved = b.memory.save()
    for name, array in a.memory.save().items():
        if not name.endswith(but or "nothing"):
            np.testing.assert_array_equal(saved[name], array, err_msg=name)


@pytest.mark.parametrize("index", ["native", "hnswlib"])
@pytest.mark.parametrize("game", ["Breakout", "MsPacman"])
def test_intertrace_equals_monte_carlo_at_episode_end(game: str, index: str) -> None:
    """From the same actions (random ones) both leave the same memory, bit for bit, its graph included."""
    agents = []
    for update in ("intertrace", "monte_carlo"):
        agent = nait.NAIT(nait.make_atari(game), seed=3, update=update, epsilon=1.0, trace_end="episode", index=index)
        agent.learn(5000, callback=lambda locals_, _: len(locals_["self"].episode_scores) < 3)
        assert len(agent.episode_scores) == 3
        agents.append(agent)
    # Where the next search would begin depends on what the last one saw, and is no part of M.
    same_memory(*agents, but=("seeds", "probed"))
    assert len(agents[0].memory) > 300
    assert any(array.any() for name, array in agents[0].memory.save().items() if name.endswith("values"))


def test_intertrace_writes_while_the_episode_runs_and_monte_carlo_does_not() -> None:
    sizes = {}
    timings = ("batch", "staggered", "delayed")
    for update, timing in (*(("intertrace", timing) for timing in timings), ("monte_carlo", "staggered")):
        options: dict[str, Any] = {"epsilon": 1.0, "epsilon_hold": 1, "update": update, "update_timing": timing}
        agent = nait.NAIT(nait.make_atari("MsPacman"), seed=0, **options).learn(120)
        sizes[update, timing] = len(agent.memory)
        assert agent.episode_scores == []
    assert sizes["monte_carlo", "staggered"] == 0
    assert 90 <= sizes["intertrace", "batch"] <= 102  # written after steps 1, 51 and 101
    assert 110 <= sizes["intertrace", "staggered"] <= 119  # each pair one step after its visit
    assert 60 <= sizes["intertrace", "delayed"] <= 69  # each pair 51 steps after its visit


def test_rates_of_0_and_1_keep_the_best_return_of_a_pair() -> None:
    """One state whose only action ends the episode with rewards 2, 5, 3: the memory holds 2, 5, 5."""

    class One(gymnasium.Env[NDArray[np.float32], int]):
        observation_space = Box(-1, 1, (1,), np.float32)
        action_space = Discrete(1)
        rewards = iter((2.0, 5.0, 3.0))

        def reset(self, **_: Any) -> Any:
            return np.array([0.0], dtype=np.float32), {}

        def step(self, action: int) -> Any:
            return np.array([1.0], dtype=np.float32), next(self.rewards), True, False, {}

    agent = nait.NAIT(One(), update="monte_carlo", alpha=0.0, alpha_up=1.0, seed=0)
    held = []
    for _ in range(3):
        agent.learn(1)
        held.append(float(agent.memory.values_of(np.array([0]))[0]))
    assert held == [2.0, 5.0, 5.0]


def test_rates_of_0_and_1_never_lower_a_value() -> None:
    options: dict[str, Any] = {"update": "monte_carlo", "alpha": 0.0, "alpha_up": 1.0, "index": "flat"}
    agent = nait.NAIT(nait.make_atari("MsPacman"), seed=0, trace_end="episode", epsilon=1.0, **options)
    agent.learn(120)
    assert len(agent.memory) == 0
    agent.learn(5000, callback=lambda locals_, _: len(locals_["self"].episode_scores) < 2)
    before = agent.memory.values_of(np.arange(len(agent.memory))).copy()
    agent.learn(5000, callback=lambda locals_, _: len(locals_["self"].episode_scores) < 4)
    after = agent.memory.values_of(np.arange(len(before)))
    assert (after >= before).all()
    assert len(agent.memory) > len(before) > 300


def test_one_step_reads_as_algorithm_1() -> None:
    """A run on a two-state world, every number by hand: gamma 0.5, alpha 0.5, k 1, an update every step."""

    class Two(gymnasium.Env[NDArray[np.float32], int]):
        observation_space = Box(-1, 1, (1,), np.float32)
        action_space = Discrete(1)

        def reset(self, **_: Any) -> Any:
            self.at = 0
            return np.array([0.0], dtype=np.float32), {}

        def step(self, action: int) -> Any:
            self.at += 1
            return np.array([self.at / 10], dtype=np.float32), float(self.at), self.at == 3, False, {}

    agent = nait.NAIT(Two(), seed=0, gamma=0.5, alpha=0.5, alpha_up=0.5, k=1, update_every=1, index="flat")

    def values() -> list[float]:
        return [float(agent.memory.lookup(np.array([i / 10], dtype=np.float32)).q[0]) for i in range(3)]

    agent.learn(1)
    assert len(agent.memory) == 0  # s1 and a1 are not known yet
    agent.learn(1)
    assert values()[0] == 1.0  # r0 + 0.5 Q'(s1) with an empty M'
    agent.learn(1)
    assert values() == [1 + 1 + 0.75, 2 + 1.5, 3.0]  # the episode's returns
    agent.learn(2)
    assert values()[0] == 2.75 + 0.5 * (1 + 0.5 * 3.5 - 2.75)  # r0 + gamma M'(s1)
    agent.learn(1)
    assert values() == [2.75, 3.5, 3.0]
    assert agent.episode_scores == [6.0, 6.0]


def test_a_lost_life_ends_the_trace_but_not_the_episode() -> None:
    class Lives(gymnasium.Env[NDArray[np.float32], int]):
        observation_space = Box(-100, 100, (1,), np.float32)
        action_space = Discrete(1)

        def reset(self, **_: Any) -> Any:
            self.t = 0
            return np.zeros(1, dtype=np.float32), {"lives": 2}

        def step(self, action: int) -> Any:
            self.t += 1
            lives = 2 if self.t < 3 else 1
            return np.array([self.t], dtype=np.float32), 1.0, self.t == 6, False, {"lives": lives}

    values = {}
    for trace_end in ("life", "episode"):
        agent = nait.NAIT(Lives(), seed=0, gamma=1.0, k=1, index="flat", trace_end=trace_end)
        agent.learn(6)
        assert agent.episode_scores == [6.0]
        values[trace_end] = [float(agent.memory.lookup(np.array([t], dtype=np.float32)).q[0]) for t in range(6)]
    assert values == {"life": [3, 2, 1, 3, 2, 1], "episode": [6, 5, 4, 3, 2, 1]}


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    agents = [nait.NAIT(nait.make_atari("Breakout"), seed=seed).learn(1500) for seed in (5, 5, 6)]
    assert agents[0].episode_scores == agents[1].episode_scores
    same_memory(agents[0], agents[1])
    assert len(agents[2].memory) != len(agents[0].memory) or agents[2].episode_ends != agents[0].episode_ends


def test_learning_in_parts_is_learning_at_once() -> None:
    parts = nait.NAIT(nait.make_atari("Breakout"), seed=1)
    for n in (1, 49, 500, 450):
        parts.learn(n)
    same_memory(parts, nait.NAIT(nait.make_atari("Breakout"), seed=1).learn(1000))


@pytest.mark.parametrize(
    "options",
    [
        {"representation": "sparse", "state_dim": 64},
        {"representation": "very_sparse"},
        {"representation": "gaussian", "state_dim": 64},
        {"kernel": "uniform"},
        {"kernel": "inverse"},
        {"kernel": "triweight"},
        {"kernel": "gaussian"},
        {"tie_break": "uniform"},
        {"tie_break": "first"},
        {"update": "monte_carlo"},
        {"alpha": 0.0, "alpha_up": 1.0},
        {"index": "flat"},
        {"index": "kdtree"},
        {"index": "hnswlib"},
        {"thin_value": "infinite"},
        {"thin_distance": "mean"},
        {"thin_distance": "letter"},
        {"update_timing": "staggered"},
        {"update_timing": "delayed"},
        {"trace_decay": 0.9},
        {"trace_end": "episode"},
        {"epsilon": (1.0, 0.0, 200)},
        {"epsilon": 0.2, "epsilon_hold": 64},
        {"state_dim": 100, "k": 8, "M": 8, "ef_construction": 50, "ef_search": 20},
    ],
    ids=str,
)
def test_every_option_runs_and_saves(options: dict[str, Any], tmp_path: Path) -> None:
    agent = nait.NAIT(nait.make_atari("Breakout"), seed=0, **options).learn(400)
    agent.save(tmp_path / "agent.nait")
    again = nait.NAIT.load(tmp_path / "agent.nait", env=nait.make_atari("Breakout"))
    assert again.config == agent.config
    for one in (agent, again):
        one.learn(200)
    same_memory(agent, again)
    assert len(agent.memory) > 100


def test_random_actions_are_held() -> None:
    env = nait.make_atari("Pong")
    taken: list[int] = []
    step = env.step
    env.step = lambda action: taken.append(int(action)) or step(action)  # type: ignore[method-assign, func-returns-value, return-value]
    nait.NAIT(env, seed=0, epsilon=1.0, epsilon_hold=64).learn(1500)
    runs = [len(list(group)) for _, group in itertools.groupby(taken)]
    assert max(runs) > 8  # with 6 actions drawn anew each step: once in a million
    assert len(set(taken)) == 6


def test_a_held_action_goes_on_after_loading_and_ends_with_the_episode(tmp_path: Path) -> None:
    options: dict[str, Any] = {"epsilon": (1.0, 0.0, 30), "epsilon_hold": 64}
    agents = (nait.NAIT(nait.make_atari("Pong"), seed=seed, **options).learn(30) for seed in range(100))
    agent = next(agent for agent in agents if agent._hold > 3)  # no further random action begins
    agent.save(tmp_path / "agent.nait")
    again = nait.NAIT.load(tmp_path / "agent.nait", env=nait.make_atari("Pong"))
    held = agent._hold
    for one in (agent, again):
        one.learn(2)
        assert one._hold == held - 2
        one.learn(100)
    same_memory(agent, again)
    fresh = nait.NAIT.load(tmp_path / "agent.nait", env=nait.make_atari("Pong"))
    fresh.cut_episode()
    assert fresh.learn(1)._hold == 0


class Line(gymnasium.Env[NDArray[np.float32], int]):
    """A number to look at and four actions."""

    observation_space = Box(-1, 1, (1,), np.float32)
    action_space = Discrete(4)


@pytest.mark.parametrize(("second", "known"), [(2.0, 0), (4.0, 1)])
def test_play_leaves_a_known_action_only_where_half_of_the_others_promise_as_much(second: float, known: int) -> None:
    """In 0 the first action brought 3; near 0 the second brought 9, the third `second` and the last 1."""
    here = np.zeros(1, dtype=np.float32)
    for play, chosen in (("known", known), ("greedy", 1)):
        agent = nait.NAIT(Line(), seed=0, k=1, play=play)
        states = np.array([[0.0], [0.1], [-0.1], [0.2]], dtype=np.float32)
        ids = agent.memory.insert(states, [hash_of(s) for s in states], np.arange(4), np.arange(4))
        agent.memory.update(ids, np.array([3.0, 9.0, second, 1.0]))
        assert agent.predict(here)[0] == agent.predict(here, deterministic=True)[0] == chosen
        assert agent.explain(here).action == chosen


def test_how_it_plays_does_not_change_what_it_learns() -> None:
    agents = []
    for play, reach in (("known", 3), ("greedy", 1)):
        env = nait.make_atari("Freeway")
        agent = nait.NAIT(env, seed=0, play=play, play_reach=reach).learn(300)
        observation, _ = nait.make_atari("Freeway").reset(seed=1)
        agent.predict(observation)  # a game looked at in between leaves no mark
        agents.append(agent.learn(300))
    same_memory(*agents)


@pytest.mark.parametrize(("index", "unit"), [("native", 1 / 16), ("hnswlib", 1.0)])
def test_explain_shows_the_moments_behind_each_value(index: str, unit: float) -> None:
    env = nait.make_atari("Breakout", full_action_space=False)
    agent = nait.NAIT(env, seed=0, k=8, index=index).learn(1200)
    observation, _ = env.reset(seed=9)
    for _ in range(20):
        observation, *_ = env.step(2)
    decision = agent.explain(observation)
    assert decision.action == agent.predict(observation, deterministic=True)[0]
    assert [action.name for action in decision.actions] == ["NOOP", "FIRE", "RIGHT", "LEFT"]
    best = max(action.value for action in decision.actions)
    assert decision.actions[decision.action].value == best
    asked = agent.representation(observation)
    for action in decision.actions:
        assert len(action.neighbours) == (1 if action.exact else 2 * 8)  # twice as many as while learning
        assert sum(n.weight for n in action.neighbours) == pytest.approx(1)
        assert sum(n.weight * n.value for n in action.neighbours) == pytest.approx(action.value, abs=1e-6)
        for n in action.neighbours:
            expected = np.linalg.norm(asked.astype(float) - n.state) * unit
            assert n.distance == pytest.approx(float(expected), rel=1e-2, abs=1.0)
            assert 1 <= n.episode <= len(agent.episode_scores) + 1
            assert n.step >= 0


def test_explain_names_the_episode_and_step_of_a_memory() -> None:
    env = nait.make_atari("Breakout", noop_max=0)
    agent = nait.NAIT(env, seed=0, epsilon=1.0).learn(900)
    assert len(agent.episode_scores) >= 2
    first, _ = env.reset()
    moments = [n for a in agent.explain(first).actions if a.exact for n in a.neighbours]
    assert moments
    assert all(n.step == 0 for n in moments)
    assert {n.episode for n in moments} <= set(range(1, len(agent.episode_scores) + 2))


def test_predict_and_explain_leave_the_training_as_it_is() -> None:
    agents = [nait.NAIT(nait.make_atari("Breakout"), seed=2) for _ in range(2)]
    other, _ = nait.make_atari("Breakout", seed=8).reset()
    for _ in range(5):
        for agent in agents:
            agent.learn(100)
        agents[0].predict(other)
        agents[0].explain(other)
    same_memory(*agents)


def test_an_evaluation_does_not_depend_on_the_ones_before_it() -> None:
    """Every other state is asked about for the first time, by a graph whose searches begin where the last ended."""
    agent = nait.NAIT(nait.make_atari("Boxing"), seed=0, k=8, ef_search=8, M=10, ef_construction=20).learn(9000)
    env = nait.make_atari("Boxing")
    nait.evaluate_policy(agent, env, 1, seed=1)
    looked_up = [lookup.q.tobytes() for lookup in agent._looked_up.values()]
    assert len(looked_up) > 1000
    nait.evaluate_policy(agent, env, 1, seed=2)
    nait.evaluate_policy(agent, env, 1, seed=1)
    assert [lookup.q.tobytes() for lookup in agent._looked_up.values()] == looked_up


def test_a_state_met_again_in_play_is_looked_up_once_until_the_agent_learns() -> None:
    agent = nait.NAIT(nait.make_atari("Breakout"), seed=0, k=8).learn(300)
    observation, _ = nait.make_atari("Breakout").reset(seed=0)
    with patch.object(agent.memory, "lookup", wraps=agent.memory.lookup) as lookup:
        assert len({agent.predict(observation)[0] for _ in range(20)}) == 1
        assert lookup.call_count == 1
        agent.learn(1)
        lookup.reset_mock()
        agent.predict(observation)
        assert lookup.call_count == 1
        agent.begin_play()
        agent.predict(observation)
        assert lookup.call_count == 2
        agent.cut_episode()  # writes the final returns
        agent.predict(observation)
        assert lookup.call_count == 3


def test_evaluation_does_not_learn_and_the_next_training_begins_anew() -> None:
    env = nait.make_atari("Breakout")
    agent = nait.NAIT(env, seed=0).learn(300)
    agent.cut_episode()
    before = len(agent.memory)
    mean, std = nait.evaluate_policy(agent, env, n_eval_episodes=2)
    assert len(agent.memory) == before
    assert mean >= 0
    assert std >= 0
    scores, lengths = nait.evaluate_policy(agent, env, n_eval_episodes=2, return_episode_rewards=True)
    assert len(scores) == len(lengths) == 2
    agent.learn(50)
    assert agent.num_timesteps == 350


def test_predict_takes_a_batch() -> None:
    env = nait.make_atari("Breakout")
    agent = nait.NAIT(env, seed=0).learn(200)
    observation, _ = env.reset(seed=1)
    one, state = agent.predict(observation, deterministic=True)
    many, _ = agent.predict(np.stack([observation, observation]), deterministic=True)
    assert state is None
    assert many.tolist() == [one, one]


def test_predict_keeps_the_frames_of_an_environment_that_does_not_stack_them() -> None:
    env = nait.make_env("ALE/Breakout-v5")
    agent = nait.NAIT(env, seed=0).learn(150)
    first, _ = env.reset(seed=0)
    second, *_ = env.step(1)
    _, state = agent.predict(first, deterministic=True)
    assert state is not None
    assert state.shape == (4, 84, 84)
    _, state = agent.predict(second, state, deterministic=True)
    assert not np.array_equal(state[-1], state[-2])
    assert np.array_equal(state[-2], state[0])
    _, anew = agent.predict(second[None], state[None], episode_start=np.array([True]), deterministic=True)
    assert np.array_equal(anew[0][0], anew[0][-1])


def test_callbacks_are_told_of_every_step_and_can_end_the_training() -> None:
    class Count(nait.Callback):
        ended = False

        def _on_step(self) -> bool:
            assert self.num_timesteps == self.n_calls == self.model.num_timesteps
            assert {"rewards", "dones", "infos"} <= set(self.locals)
            return self.n_calls < 70

        def _on_training_end(self) -> None:
            self.ended = True

    count, seen = Count(), []
    agent = nait.NAIT(nait.make_env("CartPole-v1"), seed=0)
    agent.learn(500, callback=[count, *[]])
    assert (agent.num_timesteps, count.ended) == (70, True)
    agent.learn(30, callback=lambda locals_, globals_: seen.append(locals_["rewards"]))
    assert seen == [1.0] * 30


def test_an_agent_loaded_without_environment_predicts_but_does_not_learn(tmp_path: Path) -> None:
    env = nait.make_atari("Breakout")
    agent = nait.NAIT(env, seed=0).learn(300)
    agent.save(tmp_path / "a.nait")
    observation, _ = nait.make_atari("Breakout").reset(seed=4)
    loaded = nait.NAIT.load(tmp_path / "a.nait")
    assert loaded.predict(observation, deterministic=True) == agent.predict(observation, deterministic=True)
    assert loaded.explain(observation).action == agent.explain(observation).action
    with pytest.raises(NaitError, match="without an environment"):
        loaded.learn(1)


def test_hashes_are_of_the_states_bytes() -> None:
    a = np.array([1.0, 2.0], dtype=np.float32)
    assert hash_of(a) == hash_of(a.copy())
    assert hash_of(a) != hash_of(a[::-1].copy())


# Wrong input


def test_continuous_actions_are_refused() -> None:
    with pytest.raises(NaitError, match="discrete actions"):
        nait.NAIT(nait.make_env("Pendulum-v1"))


def test_a_space_of_several_arrays_is_refused() -> None:
    class Several(gymnasium.Env[Any, int]):
        observation_space = Dict({"a": Box(0, 1, (2,))})
        action_space = Discrete(2)

    with pytest.raises(NaitError, match="Box space"):
        nait.NAIT(Several())


def test_more_coefficients_than_the_frames_have_are_refused() -> None:
    with pytest.raises(NaitError, match="at most 28224"):
        nait.NAIT(nait.make_atari("Pong"), state_dim=169**2)


@pytest.mark.parametrize("seed", [-1, 1.5, True])
def test_a_wrong_seed_is_refused(seed: Any) -> None:
    with pytest.raises(NaitError, match="seed must be"):
        nait.NAIT(nait.make_env("CartPole-v1"), seed=seed)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (np.array([np.nan, 0.0], dtype=np.float32), "NaN"),
        (np.array([np.inf, 0.0], dtype=np.float32), "NaN or infinite"),
        (np.zeros(3, dtype=np.float32), r"shape \(3,\)"),
        (np.array(["a", "b"]), "numbers"),
    ],
)
def test_observations_that_are_not_what_the_space_says_are_refused(bad: Any, said: str) -> None:
    class Bad(gymnasium.Env[Any, int]):
        observation_space = Box(-1, 1, (2,), np.float32)
        action_space = Discrete(2)

        def reset(self, **_: Any) -> Any:
            return np.zeros(2, dtype=np.float32), {}

        def step(self, action: int) -> Any:
            return bad, 0.0, False, False, {}

    with pytest.raises(NaitError, match=said):
        nait.NAIT(Bad(), seed=0).learn(3)
    with pytest.raises(NaitError, match=said):
        nait.NAIT(Bad(), seed=0).predict(bad)


def test_coloured_frames_are_refused_in_one_line() -> None:
    with pytest.raises(NaitError, match="the DCT needs grey frames"):
        nait.NAIT(nait.make_atari("Pong", greyscale=False), seed=0)
