"""A job that runs elsewhere: its name, where the checkpoints of its queries are, what they write, the code to fork it with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import navigation, once, permitted, session
from dashboard.typed import words
from dashboard.views import job_names, server_scripts
from dashboard.views.commands import commands
from dashboard.widgets import error_box, errors_shown, page_header, section
from pipelines.domain.access import Role
from pipelines.domain.errors import TidemarkError
from pipelines.domain.ids import query_of
from pipelines.verbs.attach import Attach
from pipelines.verbs.jobs import ListJobs

SINKS = ("", "parquet", "json", "csv", "orc", "text", "delta", "kafka", "foreachBatch", "foreach", "console", "noop")
ABOUT = (
    "Tidemark reads the checkpoint, at a path that this machine sees or at any URL that fsspec reads, and never writes to it. The job does "
    "not notice and needs no change. Savepoints and forks of it work as of any other job; it is stopped and started where it runs."
)
CREDENTIALS = "Credentials for URLs come from the environment of Tidemark's server; do not write them into the URL."
FIELDS = {"job": "name", "checkpoint": "checkpoint", "attach": "checkpoint", "attach.sink": "sink", "attach.no_sink_log": "sink"}
"""Error code, or what stands before its dot -> the field it is about."""
_REFUSED = "attach_refused"


@dataclass(frozen=True)
class Place:
    """One query with its checkpoint, as typed; `number` names its fields."""

    number: int
    query: str
    checkpoint: str


@dataclass(frozen=True)
class Refused:
    """A refused change and its error."""

    change: Attach
    error: TidemarkError


def draw(head: DeltaGenerator) -> None:
    """The form, with each error beside the field that it is about; the head's button attaches."""
    form, about = st.columns([7, 3], gap="medium")
    with form, errors_shown():
        change, why_not = _form()
        with head, errors_shown():
            _head(change, why_not)
        _forget_older(change)
    with about, st.container(border=True, key="card_attach_about"):
        section("What this does")
        st.html(f'<p class="tm-hint">{ABOUT}</p><p class="tm-hint" style="margin-top:8px">{CREDENTIALS}</p>')


def _head(change: Attach, why_not: str) -> None:
    with page_header("New job"):
        commands([replace(change, name=change.name or "NAME")], key="attach_command")
        pressed = permitted.button(
            "Attach",
            Role.AUTHOR,
            type="primary",
            icon=":material/visibility:",
            key="attach_start",
            disabled=bool(why_not),
            help=why_not or None,
        )
    if not pressed:
        return
    try:
        once.do(change)
    except TidemarkError as error:
        st.session_state[_REFUSED] = Refused(change, error)
        st.rerun()
    forget()
    navigation.go("job", job=change.name)


def _forget_older(change: Attach) -> None:
    """Removes the error of a former attempt when the form has changed. It runs after the button was read, which is often pressed together
    with the change."""
    refused = st.session_state.get(_REFUSED)
    if isinstance(refused, Refused) and refused.change != change:
        del st.session_state[_REFUSED]
        st.rerun()


def forget() -> None:
    """The next visit begins anew."""
    for name in (_REFUSED, "attach_places"):
        st.session_state.pop(name, None)


def _form() -> tuple[Attach, str]:
    refused = st.session_state.get(_REFUSED)
    error = refused.error if isinstance(refused, Refused) else None
    with st.container(border=True, key="card_attach"):
        section("Job")
        name = (
            st.text_input("Name", key="attach_name", max_chars=100, placeholder="clicks", help="The job's name in Tidemark") or ""
        ).strip()
        if error is None:
            job_names.check(name, {str(summary.job.name) for summary in session.shared(ListJobs())})
        _beside(error, "name")
        section("Checkpoints", "one row for each of its queries: the checkpointLocation that the query was started with")
        places = _places(error)
        section("Output", "what a fork needs and a checkpoint does not hold")
        sink, sink_path = _sink()
        _beside(error, "sink")
    script, code, files, args = _code()
    if error and _field(error) == "":
        error_box(error)
    checkpoints = {place.query.strip(): place.checkpoint.strip() for place in places}
    change = Attach(name=name, checkpoints=checkpoints, sink=sink, sink_path=sink_path, script=script, code=code, files=files, args=args)
    return change, _why_not(name, places)


def _why_not(name: str, places: Sequence[Place]) -> str:
    """The reason why it cannot be attached yet; empty where it can."""
    if not name:
        return "Give it a name"
    if any(not place.checkpoint.strip() or not place.query.strip() for place in places):
        return "Give each query a name and its checkpoint"
    names = [place.query.strip() for place in places]
    return "Two queries have one name" if len(set(names)) < len(names) else ""


def _places(error: TidemarkError | None) -> list[Place]:
    numbers: list[int] = st.session_state.setdefault("attach_places", [0])
    places = [_place(number, first=number == numbers[0], alone=len(numbers) == 1) for number in numbers]
    at = _field(error) if error else ""
    if at == "checkpoint":
        wrong = next(
            (place for place in places if place.checkpoint.strip() and place.checkpoint.strip() in (error.message if error else "")), None
        )
        _beside(error, at, f"{wrong.query}: " if wrong else "")
    st.button("Another query", icon=":material/add:", type="tertiary", key="attach_more", on_click=_add)
    return places


def _place(number: int, *, first: bool, alone: bool) -> Place:
    shown: Literal["visible", "collapsed"] = "visible" if first else "collapsed"
    with st.container(horizontal=True, vertical_alignment="bottom", wrap=False, key=f"attach_row_{number}"):
        query = st.text_input(
            "Query", key=f"attach_query_{number}", label_visibility=shown, placeholder="named after its folder", width=200
        )
        checkpoint = st.text_input(
            "Checkpoint",
            key=f"attach_checkpoint_{number}",
            label_visibility=shown,
            placeholder="/data/clicks/checkpoint or s3://lake/clicks/checkpoint",
        )
        if not alone:
            st.button(
                "",
                icon=":material/close:",
                type="tertiary",
                key=f"attach_less_{number}",
                help="Remove this query",
                on_click=_less,
                args=(number,),
            )
    return Place(number, query or (query_of(checkpoint) if checkpoint else ""), checkpoint or "")


def _add() -> None:
    numbers = st.session_state["attach_places"]
    st.session_state["attach_places"] = [*numbers, max(numbers) + 1]


def _less(number: int) -> None:
    st.session_state["attach_places"] = [other for other in st.session_state["attach_places"] if other != number]


def _sink() -> tuple[str, str]:
    with st.container(horizontal=True, vertical_alignment="bottom", wrap=False, key="attach_sink_row"):
        sink = st.selectbox(
            "Sink", SINKS, format_func=lambda name: name or "not known", key="attach_sink", width=200, accept_new_options=True
        )
        path = st.text_input("Where a file sink writes", key="attach_sink_path", placeholder="s3://lake/clicks/out")
    return str(sink or ""), (path or "").strip()


def _code() -> tuple[str, str, Mapping[str, str | None] | None, tuple[str, ...]]:
    """The script of the job, which is optional; an error of reading it is shown beside it."""
    with st.expander("Its code, for forks (can be given later, at a fork)", icon=":material/code:"):
        path = (
            st.text_input("Script", key="attach_script", placeholder="/home/me/clicks.py on the machine that Tidemark runs on") or ""
        ).strip()
        script, code = "", ""
        files: Mapping[str, str | None] | None = None
        if path:
            try:
                read = server_scripts.read(path)
                script, code, files = read.name, read.code, dict(read.files) or None
            except TidemarkError as error:
                _error_line(f"{error.message}. {error.hint}")
        args = st.text_input("Arguments", key="attach_args", help="As in a shell. {output} becomes a fork's own output directory.")
        if code:
            st.code(code, language="python", height=220)
    return script, code, files, words(args or "") if code else ()


def _field(error: TidemarkError) -> str:
    """The field that an error is about; empty where it is about none."""
    return FIELDS.get(error.code) or FIELDS.get(error.code.partition(".")[0], "")


def _beside(error: TidemarkError | None, field: str, about: str = "") -> None:
    if error and _field(error) == field:
        _error_line(f"{about}{error.message}. {error.hint}")


def _error_line(text: str) -> None:
    st.html(f'<p class="tm-error" role="alert">{escape(text)}</p>')
