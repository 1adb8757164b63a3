"""Signs of life: they tell a job that has lost a file from one that was never begun in full. A cleaner takes only the latter."""

from __future__ import annotations

from pathlib import Path

from pipelines.domain.processes import PROCESS_FILE
from pipelines.domain.run_specs import SPEC_FILE
from pipelines.domain.runs import EXIT_FILE, LOG_FILE, PROGRESS_FILE
from pipelines.storage.layout import OUTPUT, WAREHOUSE

SIGNS = (PROCESS_FILE, EXIT_FILE, PROGRESS_FILE, LOG_FILE)
"""Files that a run has once its driver was started, or once a batch of it was seen. Who attaches a job writes its queries before that."""


def in_run(folder: Path) -> bool:
    """Whether the run in `folder` was ever started."""
    return any((folder / name).exists() for name in SIGNS)


def in_job(folder: Path) -> bool:
    """Whether a run of the job in `folder` was ever started, or its output is all that is left of them."""
    runs = [run for run in (folder / "runs").glob("[!.]*") if run.is_dir()]
    if any(in_run(run) for run in runs):
        return True
    return not any((run / SPEC_FILE).exists() for run in runs) and any(map(_holds_files, (folder / OUTPUT, folder / WAREHOUSE / "tables")))


def _holds_files(folder: Path) -> bool:
    return any(path.is_file() for path in folder.rglob("*"))
