"""The process of one job: `python -m nait.experiments.worker FOLDER`.

The job comes as a line of JSON on the standard input, which then stays open. When it closes, because
the benchmark stops or has died, the run writes its checkpoint and ends.
"""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

import cv2

from nait.errors import NaitError
from nait.experiments.job import Ended, perform
from nait.experiments.plan import Job

EXIT_CODES = {Ended.DONE: 0, Ended.BROKEN: 10, Ended.FAILED: 11, Ended.STOPPED: 12, Ended.HELD: 13}
MARK = "nait: "  # of a line for the user


def main(arguments: list[str]) -> int:
    """Do the job and return how it ended as an exit code."""
    folder, retry = Path(arguments[0]), "--retry-failed" in arguments
    job = Job.from_json(sys.stdin.readline())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is the benchmark's to handle
    threading.Thread(target=_stop_with_input, daemon=True).start()
    cv2.setNumThreads(1)
    try:
        return EXIT_CODES[perform(job, folder, retry_failed=retry, tell=_tell)]
    except (NaitError, OSError) as error:
        _tell(str(error))
        return EXIT_CODES[Ended.BROKEN]


def _tell(line: str) -> None:
    print(f"{MARK}{line}", file=sys.stderr, flush=True)


def _stop_with_input() -> None:
    sys.stdin.read()
    signal.raise_signal(signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
