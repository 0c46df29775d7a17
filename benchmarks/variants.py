"""How far each variant of a folder of runs lies from the runs of another table, game by game.

One seed of the default says little about a variant that has one seed itself; the ten of the table say more. Prints the
mean difference in human-normalised score with its standard error over the games, the same with games clipped to 1, and
on how many games the variant is higher.

    python benchmarks/variants.py results/paper results/atari100k/runs.csv
"""

from __future__ import annotations

import argparse
from pathlib import Path

from nait.paper.tables import DIFFERENCE, difference_cells
from nait.report.results import columns_of, read_source

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variants", type=Path)
    parser.add_argument("base", type=Path, help="its default runs are compared with")
    arguments = parser.parse_args()
    base = columns_of([read_source(arguments.base)])[0]
    print(" | ".join(DIFFERENCE), "| variant")
    for column in columns_of([read_source(arguments.variants)]):
        print(" | ".join(difference_cells(column, base)), "|", column.label)
