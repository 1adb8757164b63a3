"""`python -m pipelines.driver.afar RUN_DIR submit`: gives the run to the cluster that its run.json names."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pipelines.domain.errors import STATUS_AND_EXIT_CODES, TidemarkError
from pipelines.driver.afar.submission import submit_run
from pipelines.driver.records import say

if __name__ == "__main__":
    try:
        sys.exit(submit_run(Path(sys.argv[1]).resolve(), os.environ))
    except TidemarkError as error:
        say(f"{error.code}: {error.message}. {error.hint}")
        sys.exit(STATUS_AND_EXIT_CODES[error.group][1])
