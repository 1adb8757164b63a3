"""Experiments in the catalog."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.catalog.connection import Reader, Writer
from pipelines.catalog.tables import TEXT, WHOLE, document, first, read, replace
from pipelines.domain.errors import NotFound
from pipelines.domain.experiments import Experiment

_COLUMNS = {"id": TEXT, "savepoint": TEXT, "created_ms": WHOLE, "document": TEXT}


def save(writer: Writer, experiments: Sequence[Experiment]) -> None:
    """Add `experiments`, or replace those of the same id."""
    replace(writer, "experiments", _COLUMNS, ["id"], [(e.id, e.savepoint, e.created_ms, document(e)) for e in experiments])


def listed(reader: Reader) -> list[Experiment]:
    """All experiments, newest first."""
    rows = reader.execute("SELECT document FROM experiments ORDER BY created_ms DESC, id DESC").fetchall()
    return read(Experiment, rows, "experiment")


def get(reader: Reader, experiment_id: str) -> Experiment:
    """The experiment of that id; NotFound (`experiment.not_found`) if there is none."""
    experiment = first(Experiment, reader, "SELECT document FROM experiments WHERE id = ?", [experiment_id], "experiment")
    if experiment is None:
        raise NotFound("experiment.not_found", f"There is no experiment {experiment_id!r}", "See them with `experiments`.")
    return experiment
