"""The actions on a job: each opens its dialog, begins the change, and shows the outcome."""

from __future__ import annotations

import time
from collections.abc import Mapping

import streamlit as st

from dashboard import navigation, notices, once, permitted, session
from dashboard.dialogs import dialog
from dashboard.notices import Notice
from dashboard.views import changes, operations
from dashboard.views.endings import ending
from dashboard.widgets import confirm, errors_shown
from pipelines.domain.access import Role
from pipelines.domain.errors import TidemarkError
from pipelines.domain.jobs import JobDetail
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.forget import Forget
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.stop import Stop
from pipelines.verbs.take import Take
from pipelines.words import formats, savepoints


def take(job: str, batch: int | Mapping[str, int] | None = None, at_ms: int | None = None, event_ms: int | None = None) -> Savepoint | None:
    """Takes a savepoint and shows it, or the error, on the job's page. None where it is still being taken, and where it failed."""
    began = time.perf_counter()
    try:
        taken = changes.take(Take(job, batch=batch, at_ms=at_ms, event_ms=event_ms))
    except TidemarkError as error:
        notices.say(Notice(job, error=error))
        return None
    if taken is not None:
        notices.say(Notice(job, taken, (time.perf_counter() - began) * 1_000))
    return taken


def see(job: str) -> None:
    """Shows the outcome of a savepoint or resume that took longer."""
    try:
        taken = changes.taken(job)
        changes.resumed(job)
    except TidemarkError as error:
        notices.say(Notice(job, error=error))
    else:
        if taken is not None:
            notices.say(Notice(job, taken))


def ask_fork(job: str) -> None:
    """Forks from a savepoint taken now, or from an existing one."""

    @dialog(f"Fork {job}")
    def ask() -> None:
        with errors_shown():
            known = session.workspace().ask(ListSavepoints(job))
            st.markdown(
                "A fork is a new job that begins with this job's state: its own checkpoint, query id and output, and code you can change."
            )
            if permitted.button(
                "From now: take a savepoint and fork it",
                Role.AUTHOR,
                type="primary",
                icon=":material/bookmark_add:",
                key="fork_now",
                width="stretch",
            ):
                taken = changes.take(Take(job, label="to fork"))
                if taken is not None:
                    navigation.go("fork", savepoint=taken.id)
                st.rerun()
            if not known:
                return
            names = {savepoint.id: savepoints.choice(savepoint, session.now_ms()) for savepoint in known}
            chosen = st.selectbox(
                "or from an existing savepoint", list(names), format_func=lambda savepoint_id: names[savepoint_id], key="fork_from"
            )
            if permitted.button("Fork from this savepoint", Role.AUTHOR, icon=":material/call_split:", key="fork_chosen", width="stretch"):
                navigation.go("fork", savepoint=str(chosen))

    ask()


def ask_stop(job: str, streaming: bool) -> None:
    """Stops at a batch boundary, with a savepoint unless told not to."""

    @dialog(f"Stop {job}")
    def ask() -> None:
        boundary = "It ends when the batch that runs now is committed; it can be resumed from there."
        st.markdown(boundary if streaming else "Its script is asked to end; it can be resumed, and begins anew.")
        keep = streaming and st.checkbox("Take a savepoint after it stopped", value=True, key="stop_keep")
        label = st.text_input("Label", placeholder="before the change", key="stop_label", disabled=not keep) if streaming else ""
        stop = Stop(job, savepoint=keep, label=(label or "").strip())
        ending(stop, "Stop", "stop", operations.begin, icon=":material/stop_circle:")

    ask()


def ask_cancel(job: str) -> None:
    """Ends the run at once."""

    def cancel() -> None:
        operations.begin(Stop(job, savepoint=False, at_once=True))

    says = f"**{job}** ends in the middle of its batch, without a savepoint. The batch is done again when it is resumed: nothing is lost."
    confirm(f"Cancel the run of {job}", says, "Cancel the run", cancel, danger=True)


def ask_forget(detail: JobDetail) -> None:
    """Removes the job, but not its savepoints; of one that runs elsewhere only what is known of it here goes."""
    name, attached = detail.summary.job.name, detail.summary.job.attached
    kept = len(session.workspace().ask(ListSavepoints(name)))
    says = _watched_no_more(name) if attached else _deletes(detail)
    stay = f"Its {formats.plural(kept, 'savepoint')} stay, and can be forked." if kept else "It has no savepoint, so its state goes too."

    def forget() -> None:
        once.do(Forget(name))
        if session.selected("job"):
            navigation.go("overview")

    confirm(f"Forget {name}", says, "Forget", forget, details=stay if kept or not attached else "", danger=True)


def _watched_no_more(name: str) -> str:
    stays = "It runs on where it runs: its checkpoint and its output are not touched."
    return f"**{name}** is watched no more, and what was measured of it here is deleted. {stays}"


def _deletes(detail: JobDetail) -> str:
    runs, held = formats.plural(len(detail.runs), "run"), detail.summary.checkpoint_bytes
    checkpoint = f"its checkpoint ({formats.size(held)})" if held else "its checkpoint"
    return f"This deletes **{detail.summary.job.name}**: its {runs} with their logs, {checkpoint} and its output. It cannot be undone."
