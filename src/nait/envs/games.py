"""The names of the Atari games: `MsPacman` here and in the paper, `ms_pacman` for the emulator's ROMs."""

from __future__ import annotations

import difflib
import re

from ale_py import roms

from nait.errors import NaitError


def rom_name(game: str) -> str:
    """The emulator's name of a game; an unknown one is answered with the nearest names."""
    rom = re.sub(r"(?<!^)(?=[A-Z])", "_", game).lower()
    known = roms.get_all_rom_ids()
    if not game or not game[0].isupper() or rom not in known:
        raise NaitError(unknown_game(game, [game_name(other) for other in known]))
    return rom


def game_name(rom: str) -> str:
    """The other way round: `ms_pacman` is `MsPacman`."""
    return "".join(part.capitalize() for part in rom.split("_"))


def unknown_game(game: str, known: list[str]) -> str:
    """What to answer when there is no such game."""
    lower = {name.lower(): name for name in known}
    plain = re.sub(r"[^a-z0-9]", "", game.lower())
    near = [lower[match] for match in difflib.get_close_matches(plain, lower, n=3, cutoff=0.5)]
    hint = f"did you mean {' or '.join(near)}?" if near else "`nait games` lists them"
    return f"there is no game {game!r}: {hint}"
