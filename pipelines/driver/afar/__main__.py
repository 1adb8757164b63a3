"""`python -m pipelines.driver.afar RUN_DIR submit`: gives the run to the cluster that its run.json names. `… RUN_DIR pods`: answers what
Kubernetes says of drivers there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pipelines.domain.errors import STATUS_AND_EXIT_CODES, TidemarkError
from pipelines.driver.afar import pods
from pipelines.driver.afar.submission import submit_run
from pipelines.driver.records import say

if __name__ == "__main__":
    try:
        folder = Path(sys.argv[1]).resolve()
        sys.exit(pods.serve(folder, os.environ) if sys.argv[2] == "pods" else submit_run(folder, os.environ))
    except TidemarkError as error:
        say(f"{error.code}: {error.message}. {error.hint}")
        sys.exit(STATUS_AND_EXIT_CODES[error.group][1])
