"""Experiments: the games and their published scores, and one training run with its folder."""
