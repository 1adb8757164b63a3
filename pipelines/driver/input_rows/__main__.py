"""`python -m pipelines.driver.input_rows FOLDER`: reads what the folder's rows.json asks for, and answers in read.json."""

from __future__ import annotations

import sys
from pathlib import Path

from pipelines.driver.input_rows.reader import read

if __name__ == "__main__":
    sys.exit(read(Path(sys.argv[1]).resolve()))
