"""`python -m pipelines.driver.planning FOLDER`: plans the sides that the folder's plan.json names, and answers in planned.json."""

from __future__ import annotations

import sys
from pathlib import Path

from pipelines.driver.planning.sides import plan

if __name__ == "__main__":
    sys.exit(plan(Path(sys.argv[1]).resolve()))
