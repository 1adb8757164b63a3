"""What the scripts of the collection define, without running them."""

from __future__ import annotations

import functools
import runpy
import sys
from pathlib import Path
from typing import Any

JOBS = Path(__file__).parents[2] / "pipelines" / "jobs"


@functools.cache
def script(name: str) -> dict[str, Any]:
    """What a job's script defines; its main has not run. Python workers get its functions by value, as those of a `__main__`."""
    sys.path.insert(0, str(JOBS))  # as spark-submit does
    try:
        return runpy.run_path(str(JOBS / f"{name}.py"), run_name=name)
    finally:
        sys.path.remove(str(JOBS))
