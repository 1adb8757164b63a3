"""Arguments and confs that a run has: its version's, with what is only known once it is clear which run in which workspace it is."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.domain import event_logs, files, log_configuration, spark_metrics
from pipelines.domain.ids import JobName, RunId
from pipelines.domain.placeholders import CODE, JOB, OUTPUT
from pipelines.domain.versions import Version
from pipelines.storage.layout import Layout
from pipelines.workspace import hadoop, large_files
from pipelines.workspace.context import Context


def settings(frozen: Version, job: str, code: str, output: str, places: Mapping[str, str]) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Arguments and confs of a run of `job` whose script and files are in the folder `code`, and its large files at `places`; without an
    event log, which only a run that is meant has."""

    def here(text: str) -> str:
        return files.moved(text.replace(CODE, code) if frozen.files else text, places)

    return tuple(here(argument.replace(OUTPUT, output).replace(JOB, job)) for argument in frozen.args), {
        name: here(text) for name, text in event_logs.without(frozen.conf).items()
    }


def confs(context: Context, version: Version) -> Mapping[str, str]:
    """The confs of a Spark that only reads or rewrites the state of `version`, with the places of its files."""
    _, conf = settings(version, "", str(context.layout.code(version.id)), "", large_files.places(context, version))
    return hadoop.here(spark_metrics.without_sinks(conf))


def directed(layout: Layout, frozen: Version, job: JobName, run: RunId, conf: Mapping[str, str]) -> Mapping[str, str]:
    """`conf` (as `settings` has it) with the place of the run's event log, where the version asks for one, and of its log4j2
    configuration."""
    logged = event_logs.directed({**frozen.conf, **conf}, (layout.run(job, run) / event_logs.FOLDER).as_uri())
    name = log_configuration.chosen(frozen.files)
    return log_configuration.directed(logged, (layout.code(frozen.id) / name).as_uri() if name else "")
