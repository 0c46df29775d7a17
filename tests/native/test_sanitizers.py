"""The native tests once more, under the address and undefined-behaviour sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_native_tests_pass_under_the_sanitizers(tmp_path: Path) -> None:
    nanobind = pytest.importorskip("nanobind")
    if shutil.which("cmake") is None or shutil.which("gcc") is None:
        pytest.skip("needs cmake and gcc")
    build, package = tmp_path / "build", tmp_path / "package" / "nait"
    configure = [
        "cmake",
        "-S",
        str(ROOT),
        "-B",
        str(build),
        "-DNAIT_SANITIZE=ON",
        f"-DPython_EXECUTABLE={sys.executable}",
    ]
    subprocess.run([*configure, f"-Dnanobind_DIR={nanobind.cmake_dir()}"], check=True)
    subprocess.run(["cmake", "--build", str(build)], check=True)
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for module in build.glob("_core*.so"):
        shutil.copy(module, package)
    libraries = [
        subprocess.run(["gcc", f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so", "libstdc++.so.6")
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": str(package.parent),
        "LD_PRELOAD": ":".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }
    here = [str(Path(__file__).parent), "--ignore", str(Path(__file__).with_name("test_stubs.py"))]
    here += ["-m", "not slow", "-p", "no:cacheprovider", "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *here], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
