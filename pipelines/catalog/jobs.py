"""Jobs in the catalog."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.catalog.connection import Reader, Writer
from pipelines.catalog.tables import TEXT, WHOLE, document, first, read, replace
from pipelines.domain.errors import NotFound
from pipelines.domain.ids import JobName
from pipelines.domain.jobs import Job

_COLUMNS = {"name": TEXT, "created_ms": WHOLE, "document": TEXT}
_BELONGINGS = ("runs", "queries", "operations", "progress", "latest_progress", "sizes", "latest_size", "latest_idle")


def save(writer: Writer, jobs: Sequence[Job]) -> None:
    """Add `jobs`, or replace those of the same name."""
    replace(writer, "jobs", _COLUMNS, ["name"], [(job.name, job.created_ms, document(job)) for job in jobs])


def listed(reader: Reader) -> list[Job]:
    """All jobs, by name."""
    return read(Job, reader.execute("SELECT document FROM jobs ORDER BY name").fetchall(), "job")


def find(reader: Reader, name: str) -> Job | None:
    """The job `name`, None if there is none."""
    return first(Job, reader, "SELECT document FROM jobs WHERE name = ?", [name], "job")


def get(reader: Reader, name: str) -> Job:
    """The job `name`; NotFound (`job.not_found`) if there is none."""
    job = find(reader, name)
    if job is None:
        raise NotFound("job.not_found", f"There is no job {name!r}", "See the names with `list`.")
    return job


def forget(writer: Writer, name: JobName) -> None:
    """Remove a job with its runs and all that was measured of them; its savepoints and events stay."""
    writer.execute("DELETE FROM jobs WHERE name = ?", [name])
    for table in _BELONGINGS:
        writer.execute(f"DELETE FROM {table} WHERE job = ?", [name])
