from __future__ import annotations

import json
from typing import Any

import pytest

import nait
from nait.config import Config, epsilon_text, parse_epsilon
from nait.errors import NaitError


def test_the_defaults_are_the_papers() -> None:
    config = Config()
    assert (config.k, config.state_dim, config.gamma, config.alpha, config.update_every) == (64, 289, 0.99, 0.1, 50)
    assert (config.M, config.ef_construction, config.ef_search) == (40, 200, 200)
    assert (config.representation, config.kernel, config.tie_break) == ("dct", "tricubic", "novelty")
    assert config.update == "intertrace"


def test_the_open_points_are_as_the_page_on_reproduction_says() -> None:
    config = Config()
    assert (config.trace_end, config.update_timing, config.trace_decay) == ("life", "batch", 1.0)
    assert (config.epsilon, config.epsilon_hold) == ((0.01, 0.0, 80_000), 64)
    assert (config.thin_value, config.thin_distance) == ("infinite", "letter")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"k": 0}, "k must be a whole number of at least 1, not 0"),
        ({"k": 2.5}, "k must be a whole number"),
        ({"state_dim": -4}, "state_dim must be"),
        ({"state_dim": 290}, r"must be a square for the DCT, such as 289 or 324, not 290"),
        ({"gamma": 1.01}, r"gamma must lie in \[0, 1\]"),
        ({"gamma": float("nan")}, "gamma"),
        ({"trace_decay": 1.5}, r"trace_decay must lie in \[0, 1\]"),
        ({"alpha": -0.1}, r"alpha must lie in \[0, 1\]"),
        ({"alpha_up": 2.0}, r"alpha_up must lie in \[0, 1\]"),
        ({"play_reach": 0}, "play_reach must be a whole number of at least 1"),
        ({"play_reach": 1025}, "play_reach must be at most 1024"),
        ({"epsilon": 1.5}, "epsilon"),
        ({"epsilon": (1.0, 0.0, 0)}, "epsilon"),
        ({"M": 1}, "M must be at least 2"),
        ({"kernel": "cubic"}, "kernel must be one of tricubic, uniform, inverse, triweight, gaussian, not 'cubic'"),
        ({"temperature": 0.0}, "temperature"),
    ],
)
def test_values_out_of_range_are_refused_in_one_line(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(NaitError, match=said) as error:
        Config(**wrong)
    assert "\n" not in str(error.value)


def test_a_square_is_needed_for_the_dct_alone() -> None:
    assert Config(state_dim=290, representation="sparse").state_dim == 290


def test_a_misspelt_hyperparameter_is_answered_with_the_nearest() -> None:
    with pytest.raises(NaitError, match="did you mean gamma"):
        nait.NAIT(nait.make_env("CartPole-v1"), gama=0.9)


def test_epsilon_decays_linearly_and_stays() -> None:
    config = Config(epsilon=(1.0, 0.2, 100))
    assert [config.epsilon_at(t) for t in (0, 50, 100, 900)] == pytest.approx([1.0, 0.6, 0.2, 0.2])
    assert Config(epsilon=0.3).epsilon_at(7) == 0.3


def test_a_file_older_than_an_option_means_what_it_meant() -> None:
    data = Config(epsilon=0.5, alpha=0.3).to_json()
    for name in ("epsilon_hold", "trace_decay", "play", "play_reach", "alpha_up"):
        del data[name]
    before = Config(epsilon=0.5, alpha=0.3, epsilon_hold=1, play="greedy", play_reach=1, alpha_up=0.3)
    assert Config.from_json(data) == before


@pytest.mark.parametrize("epsilon", [0.0, 0.25, (1.0, 0.05, 5000), (0.01, 0.0, 80_000)])
def test_epsilon_goes_through_text_unchanged(epsilon: float | tuple[float, float, int]) -> None:
    assert parse_epsilon(epsilon_text(epsilon)) == epsilon


def test_epsilon_is_read_from_text() -> None:
    assert parse_epsilon("0.1") == 0.1
    assert parse_epsilon("1:0.05:5000") == (1.0, 0.05, 5000)
    with pytest.raises(NaitError, match="START:END:STEPS"):
        parse_epsilon("1:0")


def test_a_configuration_survives_json() -> None:
    config = Config(k=7, epsilon=(1.0, 0.0, 10), representation="sparse")
    assert Config.from_json(json.loads(json.dumps(config.to_json()))) == config
    with pytest.raises(NaitError, match="unknown hyperparameter 'colour'"):
        Config.from_json({"colour": 1})
