"""The typed stub says what the module has."""

from __future__ import annotations

import ast
from pathlib import Path

import nait
from nait import _core


def public(names: list[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def test_the_stub_names_everything_in_the_core() -> None:
    stub = ast.parse(Path(nait.__file__).with_name("_core.pyi").read_text())
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    assert set(classes) == {name for name in public(dir(_core)) if isinstance(getattr(_core, name), type)}
    for name, node in classes.items():
        written = public([item.name for item in node.body if isinstance(item, ast.FunctionDef)])
        assert written == public(dir(getattr(_core, name))), "run make stubs"
