"""The failure of a job: Spark's error class, its message, a hint, the way to the log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import streamlit as st

from dashboard import navigation, permitted, session
from dashboard.views import connectors, diagnosis
from dashboard.views.job import restarts, resume
from dashboard.widgets import message_box
from pipelines.domain.access import Role
from pipelines.domain.diagnosis import Diagnosis
from pipelines.domain.jobs import JobDetail, Run
from pipelines.domain.resources import EXCEEDED
from pipelines.domain.restarts import MISFIT
from pipelines.verbs.experiments import ShowVersion
from pipelines.words import formats, probations

NOT_INSTALLED = "|".join((
    "DATA_SOURCE_NOT_(FOUND|ENABLED)", "Failed to find.*data source", "catalog plugin class", "ClassNotFound", "NoClassDef",
    "ModuleNotFoundError", "ImportError",
))  # fmt: skip
CODE_FAILS = "The code itself fails. Upgrade the job with corrected code, or start that as a fork of the last savepoint."
HINTS = (
    (MISFIT,
     "The code expects another state than the checkpoint holds. Resume with the code it had, "
     "or fork a savepoint whose state fits the new code."),
    (r"STATE_STORE_PROVIDER|STDS_|STATE_STORE_",
     "The state store could not be read as configured. Check the state-store confs against those of the version before, "
     "or go back to a savepoint."),
    (r"CHECKPOINT|INVALID_LOG_VERSION|BATCH_METADATA|OFFSET",
     "The checkpoint could not be used as it is. Resume from one of this job's savepoints."),
    (r"PATH_NOT_FOUND|FileNotFound|NoSuchFile",
     "A path that the job reads or writes does not exist. Check its arguments under Configuration: a relative path begins in the "
     "job's output folder, so give the whole path."),
    (NOT_INSTALLED,
     "Something the job needs is not installed in its runtime: a package with spark.jars.packages (what Kafka, Delta Lake and Iceberg "
     "need is said below where the code names them, and in the settings), or a Python module."),
    (EXCEEDED,
     "The driver took more memory than the job may have. Raise its limit (•••), let it read less in a batch, or keep its state "
     "in RocksDB."),
    (r"OutOfMemory|OOM|killed",
     "The driver was killed or ran out of memory. Give it more memory (spark.driver.memory), or let it read less in a batch."),
    (r"SyntaxError|NameError|TypeError|AttributeError|KeyError|ValueError|IndexError|UNRESOLVED_COLUMN|AnalysisException",
     CODE_FAILS),
    (r"AddressInUse|BindException|PORT", "A port that the driver needs is taken."),
)  # fmt: skip
NONE_FITS = (
    "The code expects another state than the checkpoint holds, and the job ran no other code on it. "
    "Upgrade the job with code that fits, or fork a savepoint whose state does."
)
OTHERWISE = "Read the end of the log. Resume the job when the cause is gone: it goes on after its last batch, and nothing is lost."


def hint(error_class: str, message: str, reason: str) -> str:
    """The advice on an error, in a sentence or two."""
    cause = f"{error_class} {reason}"
    for pattern, words in HINTS:
        if re.search(pattern, cause, re.IGNORECASE):
            return words
    return next((words for pattern, words in HINTS[:5] if re.search(pattern, message)), OTHERWISE)


def way_back(detail: JobDetail) -> str:
    """The version to go on with where the newest run failed because its code does not fit its state; empty otherwise."""
    return resume.previous_version(detail) if _misfits(detail) else ""


def fails_again(detail: JobDetail) -> bool:
    """Whether a resume as it is fails like before: at a poison batch, or because no code that the job ran fits its state."""
    run = detail.summary.run
    poison = run is not None and run.state.has_failed and run.restart is not None and bool(run.restart.poison)
    return poison or (_misfits(detail) and not way_back(detail))


def _misfits(detail: JobDetail) -> bool:
    run = detail.summary.run
    return run is not None and run.state.has_failed and run.exit is not None and re.search(MISFIT, run.exit.error_class) is not None


def draw(name: str, detail: JobDetail) -> None:
    """The failure of the newest run; nothing where it did not fail."""
    run = detail.summary.run
    if run is None or not run.state.has_failed:
        return
    ended = run.exit
    code, message, reason = (ended.error_class, ended.message, ended.reason) if ended else ("", "", "")
    with st.container(key="failed", gap="small"):
        message_box(_title(reason, ended.code if ended else None), message.strip() or "The driver left no message.", tag=code)
        advice = _advice(detail, run, code, message, reason)
        st.html(f'<p class="tm-hint">{advice}</p>')
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button("Read the log", icon=":material/article:", key="failed_log", on_click=_read_log)
            if advice.startswith((NONE_FITS, CODE_FAILS)) and permitted.button(
                "Upgrade…", Role.AUTHOR, icon=":material/upgrade:", key="failed_upgrade"
            ):
                navigation.go("upgrade", job=name)
            permitted.button(
                "Examine the checkpoint",
                Role.OPERATOR,
                icon=":material/stethoscope:",
                key="failed_examine",
                on_click=_examine,
                args=("yes",),
            )
        if re.search(NOT_INSTALLED, f"{code} {reason} {message}", re.IGNORECASE):
            version = session.workspace().ask(ShowVersion(run.version))
            connectors.draw(version.code, version.runtime, version.conf)
        if run.restart is not None and run.restart.poison:
            restarts.poison(name, run)
        if session.selected("examine") and not session.refusal(Role.OPERATOR):
            _doctor(name, detail)


def _advice(detail: JobDetail, run: Run, code: str, message: str, reason: str) -> str:
    """The hint, unless it restarts by itself; and why it does not, where it was restarted before."""
    decision = run.restart
    if decision is not None and decision.back is not None:
        return f"The job {escape(probations.decision(decision, goes_on=run.state.goes_on))}."
    if decision is not None and decision.at_ms is not None:
        return "The job restarts by itself from its checkpoint, and nothing is lost. Resume restarts it at once; Stop ends the wait."
    if decision is not None and decision.poison:
        why = f"{hint(code, message, reason)} " if reason == "killed" or code == EXCEEDED else ""
        return f"{why}All committed batches are safe. Resumed unchanged, the job does this batch again."
    words = NONE_FITS if _misfits(detail) and not way_back(detail) else hint(code, message, reason)
    given_up = decision is not None and decision.why and (run.attempt or decision.attempt)
    return words + (f" It is not restarted any more: {escape(decision.why)}." if decision and given_up else "")


def _read_log() -> None:
    """The tab is a widget of this page: what the address says of it would not change it."""
    st.session_state["tab"] = "Logs"


def _examine(value: str) -> None:
    session.select(examine=value)


def _doctor(name: str, detail: JobDetail) -> None:
    """The diagnosis of its checkpoint, and the way on."""
    run = detail.summary.run
    every = diagnosis.examine(name, (run.id, run.state) if run else None)
    if every is None:
        return
    with st.container(border=True, key="card_doctor", gap="small"):
        diagnosis.draw(every)
        with st.container(horizontal=True):
            _way_on(name, detail, every)
            st.button("Dismiss", type="tertiary", key="doctor_close", on_click=_examine, args=("",))


def _way_on(name: str, detail: JobDetail, every: Sequence[Diagnosis]) -> None:
    """The newest batch that can be restored where the newest one cannot; a savepoint where none can."""
    if all(query.sound for query in every):
        return
    newest = {str(query.query): max(query.restorable) for query in every if query.restorable}
    batch = next(iter(newest.values())) if len(every) == 1 and newest else newest
    can = len(newest) == len(every)
    if can and permitted.button(
        f"Go back to {formats.batches(batch)}…", Role.OPERATOR, type="primary", icon=":material/history:", key="doctor_rewind"
    ):
        resume.ask_rewind(name, batch)
    if not can and permitted.button(
        "Resume from a savepoint…", Role.OPERATOR, type="primary", icon=":material/bookmark:", key="doctor_savepoint"
    ):
        resume.ask_resume(name, detail, resume.SAVEPOINT)


def _title(reason: str, code: int | None) -> str:
    if reason == "killed":
        return "The driver was killed"
    return f"The run failed with exit code {code}" if code else "The run failed"
