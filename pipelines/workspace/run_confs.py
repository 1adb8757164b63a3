"""Confs that a run has besides its version's: what is only known once it is clear which run in which workspace it is."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.domain import event_logs, log_configuration
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.versions import Version
from pipelines.storage.layout import Layout


def directed(layout: Layout, frozen: Version, job: JobName, run: RunId, conf: Mapping[str, str]) -> Mapping[str, str]:
    """`conf` (as `runs.settings` has it) with the place of the run's event log, where the version asks for one, and of its log4j2
    configuration."""
    logged = event_logs.directed({**frozen.conf, **conf}, (layout.run(job, run) / event_logs.FOLDER).as_uri())
    name = log_configuration.chosen(frozen.files)
    return log_configuration.directed(logged, (layout.code(frozen.id) / name).as_uri() if name else "")
