"""`python -m nait` is the command `nait`."""

import sys

from nait.cli import main

if __name__ == "__main__":
    sys.exit(main())
