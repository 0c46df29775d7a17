"""The paper's other experiments, each one command: `nait paper NAME`."""
