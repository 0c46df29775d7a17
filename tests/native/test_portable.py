"""The core gives the same bits on another make of processor: compiled for arm64, run under an emulator."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("portable.cpp")
FLAGS = ["-std=c++17", "-O2", "-ffp-contract=off", "-fno-math-errno", "-Wall", "-Wextra", "-Werror", "-static"]
GOLDEN = "e2dee80be0d5345a 999 954 1045"


@pytest.mark.parametrize(
    ("compiler", "run"),
    [
        pytest.param("g++", [], id="here"),
        pytest.param("aarch64-linux-gnu-g++", ["qemu-aarch64-static"], id="arm64", marks=pytest.mark.slow),
    ],
)
def test_a_made_up_run_gives_the_same_number(compiler: str, run: list[str], tmp_path: Path) -> None:
    for program in (compiler, *run):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    subprocess.run([compiler, *FLAGS, "-o", str(tmp_path / "portable"), str(SOURCE)], check=True)
    done = subprocess.run([*run, str(tmp_path / "portable")], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == GOLDEN
