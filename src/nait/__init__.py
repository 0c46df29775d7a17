"""nait: learn to act from pixels without a neural network or a GPU."""

from nait.agent import NAIT, ActionValue, Decision, Neighbour
from nait.callbacks import Callback
from nait.config import Config
from nait.envs import AtariSettings, make_atari, make_env, register
from nait.errors import NaitError
from nait.evaluation import evaluate_policy

__version__ = "0.1.0"

__all__ = [
    "NAIT",
    "ActionValue",
    "AtariSettings",
    "Callback",
    "Config",
    "Decision",
    "NaitError",
    "Neighbour",
    "evaluate_policy",
    "make_atari",
    "make_env",
]

register()
