"""One run from its `run.json` to its `exit.json`."""

from __future__ import annotations

import json
import os
import traceback
from pathlib import Path

from pipelines.domain.errors import STATUS_AND_EXIT_CODES, Conflict, Unsupported
from pipelines.domain.plain_json import rebuilt
from pipelines.domain.run_specs import SPEC_FILE, SPEC_FORMAT, RunSpec
from pipelines.domain.runs import Exit
from pipelines.driver import (
    failures,
    fetched,
    intercept,
    jvm,
    lease,
    missing_paths,
    opened,
    outside,
    own_logging,
    secret_values,
    sql_script,
    submit,
)
from pipelines.driver.beside import Beside
from pipelines.driver.boundary import stop_at_boundary
from pipelines.driver.connect import importing
from pipelines.driver.connect.queries import ConnectQueries
from pipelines.driver.event_log import EventLog
from pipelines.driver.failures import Failure
from pipelines.driver.listener import drain
from pipelines.driver.log_levels import LogLevels
from pipelines.driver.records import Clock, Records, say
from pipelines.driver.rehearsal import Rehearsal
from pipelines.driver.script_threads import ScriptThreads, in_turn
from pipelines.driver.stopping import KILLED_CODE, Stop, ToldByFile, grace_s
from pipelines.driver.warehouse import Warehouse


def run(folder: Path, now_ms: Clock) -> int:
    """Executes the run in `folder` and returns the process's exit code; `exit.json` is the last thing written.

    Of a run that another driver executes nothing is touched: its records are that driver's.
    """
    try:
        lease.hold_run(folder)
    except Conflict as refused:
        say(f"{refused.code}: {refused.message} {refused.hint}")
        return STATUS_AND_EXIT_CODES[refused.group][1]
    records = Records(folder, now_ms)
    try:
        spec = read_spec(folder)
        ending = Conductor(spec, records).run()
    except Exception as error:  # noqa: BLE001  whatever happens, exit.json says so
        traceback.print_exc()
        ending = _failed(failures.of_exception(error, ""), records)
    ending = jvm.blamed(ending)
    records.exit(ending)
    return ending.code or 0


def read_spec(folder: Path) -> RunSpec:
    """Raises Unsupported where a newer Tidemark wrote it."""
    raw = json.loads((folder / SPEC_FILE).read_text())
    if raw["format"] > SPEC_FORMAT:
        message = f"{SPEC_FILE} has format {raw['format']}, this driver reads {SPEC_FORMAT}."
        raise Unsupported("run.format", message, "Let the Tidemark that wrote it run it.")
    return rebuilt(RunSpec, raw)


class Conductor:
    """Runs the script in this process, and sees its queries to their end."""

    def __init__(self, spec: RunSpec, records: Records) -> None:
        self._spec = spec
        self._records = records
        self._stands = os.getcwd()
        self._stop = Stop(grace_s(), self._killed)
        self._rehearsal = Rehearsal(spec, records, self._stop.begin) if spec.rehearsal else None
        self._warehouse = Warehouse(spec)
        self._queries = ConnectQueries(spec, records, self._stop.begin, self._warehouse, self._rehearsal)
        self._event_log = EventLog(spec, records)
        self._beside = Beside(LogLevels(records).look, self._event_log.look, ToldByFile(records.folder).look)

    def run(self) -> Exit:
        """1. Prepare the process. 2. The script. 3. Its queries to their end. 4. Their last progress. 5. Spark's end. 6. Their lease."""
        secret_values.hide(self._spec)
        lease.refuse_away(self._spec)
        outside.check(self._spec.outside)
        self._stop.listen(self._queries)
        submit.prepare(self._spec, os.environ, self._records.folder)
        submit.enter(self._spec)
        self._event_log.prepare()
        own_logging.install(self._spec, self._records)
        own_logging.name_levels()
        if self._rehearsal is not None:
            self._rehearsal.install()
        self._warehouse.install()
        intercept.install(in_turn(self._queries.start, self._queries.turn))
        importing.install(in_turn(self._queries.start_connected, self._queries.turn))
        self._beside.start()
        opened.note(self._spec)
        fetched.install()
        self._threads = ScriptThreads()
        error = self._script()
        self._stop.script_over()
        if self._rehearsal is not None:
            self._rehearsal.settle()
        self._queries.close()
        stop_at_boundary(self._queries.started, grace_s())
        drain()
        self._queries.ended()
        ending = missing_paths.advised(self._ending(error), self._stands)
        self._beside.close()
        self._queries.leave()
        _stop_spark()
        self._queries.let_go()
        return ending

    def _script(self) -> BaseException | None:
        """Runs the script, then waits for its threads and queries; an exception is returned, not raised."""
        try:
            sql_script.execute(self._spec)
            self._wait()
        except SystemExit as ended:
            if ended.code in (None, 0):
                return self._waiting_was_cut_short()
            return ended
        except BaseException as error:  # noqa: BLE001  a script may raise anything; it is reported as the run's failure
            traceback.print_exc()
            return error
        return None

    def _waiting_was_cut_short(self) -> BaseException | None:
        """`sys.exit(0)` in a script ends its code, not its queries; a stop ends both."""
        if self._stop.requested:
            return None
        try:
            self._wait()
        except BaseException as error:  # noqa: BLE001  as above
            traceback.print_exc()
            return error
        return None

    def _wait(self) -> None:
        """Waits for the threads, which may start queries yet, then for the queries: a script that ends leaves them running."""
        self._threads.wait(self._queries.closed)
        self._queries.all_started()
        active = [running for running in self._queries.started if running.query.isActive]
        if active:
            say(f"the script has ended, its queries go on: {', '.join(running.name for running in active)}")
        for running in active:
            running.query.awaitTermination()

    def _ending(self, error: BaseException | None) -> Exit:
        """The exit of the run: a failed query is the run's failure, even if the script handled it."""
        failed = self._queries.failures()
        if failed:
            name, failure = next(iter(failed.items()))
            return _failed(Failure(failure.error_class, f"query {name}: {failure.message}"), self._records, name)
        if self._queries.failed_to_follow is not None:
            return _failed(failures.of_exception(self._queries.failed_to_follow, self._spec.script), self._records)
        if isinstance(error, SystemExit):
            return self._over() if self._stop.requested else _failed(failures.of_exit(error), self._records)
        if error is not None:
            return _failed(failures.of_exception(error, self._spec.script), self._records)
        return self._over()

    def _over(self) -> Exit:
        return Exit("stopped" if self._stop.requested else "finished", 0, "", "", self._records.now_ms())

    def _killed(self) -> None:
        self._records.exit(Exit("killed", KILLED_CODE, "", "SIGTERM came twice.", self._records.now_ms()))


def _failed(failure: Failure, records: Records, query: str = "") -> Exit:
    say(f"failed: {failure.error_class}: {failure.message}")
    return Exit("failed", 1, failure.error_class, failure.message, records.now_ms(), query)


def _stop_spark() -> None:
    """Stops Spark, so that no process writes to the checkpoint once `exit.json` appears."""
    from pyspark import SparkContext

    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()
