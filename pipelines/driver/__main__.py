"""`python -m pipelines.driver RUN_DIR`: runs the job that the folder's run.json describes."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pipelines.driver.run import run


def now_ms() -> int:
    """The wall clock, read only here."""
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]).resolve(), now_ms))
