"""`python -m pipelines.supervisor.afar PYTHON RUN_DIR`: stands for the driver of a run on the cluster."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from pathlib import Path

from pipelines.domain.errors import TidemarkError
from pipelines.domain.runs import EXIT_FILE, Exit
from pipelines.supervisor.afar import attendant
from pipelines.supervisor.afar.attendant import APPLICATION_FILE, Attendant
from pipelines.supervisor.afar.starting import THIS_PYTHON, write

PAUSE_S = 10.0
"""Before a process that failed ends: it is started again at once."""


def main(python: str, folder: Path) -> int:
    """The exit code of the run. One that the cluster never got has failed with what was refused; any other goes on without this process."""
    attendant.enter_log(folder)
    try:
        mine = Attendant(folder, "" if python == THIS_PYTHON else python, os.environ, now_ms)
        signal.signal(signal.SIGTERM, lambda number, frame: mine.stop())
        return mine.attend()
    except Exception as error:  # noqa: BLE001  whatever it is, the run's folder says so, or the supervisor begins this anew
        traceback.print_exc()
        if isinstance(error, TidemarkError) and not (folder / APPLICATION_FILE).is_file():
            write(folder, EXIT_FILE, Exit("failed", 1, error.code, f"{error.message}. {error.hint}", now_ms()))
        else:
            time.sleep(PAUSE_S)
        return 1


def now_ms() -> int:
    """The wall clock, read only here."""
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
