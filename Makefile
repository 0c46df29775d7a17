# make demo: train on a game and see how it did.   make test: lint, types and tests.
PYTHON ?= python3
BIN := .venv/bin
STEPS ?= 100000
DEMO := runs/demo

.PHONY: demo test lint stubs docs clean

demo: .venv/installed
	@rm -rf $(DEMO)
	$(BIN)/nait train MsPacman --steps $(STEPS) --seed 0 --eval-episodes 10 --out $(DEMO)

test: .venv/tested lint
	$(BIN)/pytest -n 2 -q

lint: .venv/tested
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

stubs: .venv/tested
	$(BIN)/python -m nanobind.stubgen -q -m nait._core -o src/nait/_core.pyi

docs: .venv/installed
	$(BIN)/pip install -q -e ".[docs]"
	$(BIN)/mkdocs build --strict

clean:
	rm -rf .venv build dist runs site

.venv/installed: pyproject.toml CMakeLists.txt $(wildcard native/*)
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "nait needs Python 3.11 or newer: make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install -q --disable-pip-version-check -e .
	@touch $@

.venv/tested: .venv/installed
	$(BIN)/pip install -q --disable-pip-version-check -e ".[test]"
	@touch $@
