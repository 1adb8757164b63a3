"""The form of a new job: the origin of its script, its name, arguments, confs and master."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import PurePath

import streamlit as st

from dashboard import gallery, session, undo
from dashboard.gallery import Script
from dashboard.typed import Limits, free_name, names, words
from dashboard.views import connectors, homes, job_names, runs_on, server_scripts
from dashboard.views.code_rights import code_rights
from dashboard.views.job import event_log, resources
from dashboard.views.runs_on import RunsOn
from dashboard.widgets import section
from pipelines.domain import sql_jobs
from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.event_logs import ENABLED
from pipelines.domain.masters import DEFAULT
from pipelines.domain.resources import ALL
from pipelines.domain.runtimes import Runtime
from pipelines.domain.spark_metrics import PRESETS
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.run import RunScript

PASTED = Script("job.py", "")
NO_INPUT = "DIRECTORY_OF_INPUT"
"""Stands in the arguments until the job that makes the input exists."""
_NOW, _TOUCHED, _TURN = "new_job", "new_job_touched", "new_job_turn"
CONFS = {
    "Conf": st.column_config.TextColumn(width="medium"),
    "Value": st.column_config.TextColumn(width="small"),
}


@dataclass(frozen=True)
class Draft:
    """The code as it was typed. `origin` says what it began as; another `revision` begins the editor anew."""

    origin: str
    script: str
    code: str
    source: str
    args: tuple[str, ...]
    revision: int
    touched: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    """Modules and files beside the script that go with it."""
    conf: Mapping[str, str] = field(default_factory=dict)

    def typed(self, code: str) -> Draft:
        return replace(self, code=code, touched=True)


def keep(draft: Draft) -> None:
    """Stores the current draft; edited code also under its origin, for when another script is shown meanwhile."""
    st.session_state[_NOW] = draft
    if draft.touched:
        st.session_state.setdefault(_TOUCHED, {})[draft.origin] = draft


def forget() -> None:
    """The next visit begins anew."""
    st.session_state.pop(_NOW, None)
    st.session_state.pop(_TOUCHED, None)


def fill_again() -> None:
    """Draws the form anew: the input that it asks for is there."""
    revision = st.session_state[_TURN] = st.session_state[_TURN] + 1
    keep(replace(st.session_state[_NOW], revision=revision))
    st.rerun()


def chosen(source: str) -> Draft:
    """The draft that goes with what is chosen: the one under way, or a new one where the choice is another."""
    if source == "Gallery":
        return _gallery()
    return _file() if source == "File" else _draft("pasted", PASTED)


def _gallery() -> Draft:
    names = gallery.names()
    picked = st.selectbox("Script", names, key="script", bind="query-params", label_visibility="collapsed", format_func=_title, width=420)
    script = gallery.from_gallery(str(picked or names[0]))
    return _draft(f"gallery:{script.name}", script)


def _title(script: str) -> str:
    """How a script of the gallery is listed; a second version as that."""
    example = gallery.example(script)
    return f"{script} (second version)" if example and script == example.scripts[1] else script


def _file() -> Draft:
    path = st.text_input(
        "Path", key="path", bind="query-params", placeholder="/home/me/my_job.py on the machine that Tidemark runs on",
        icon=":material/description:", label_visibility="collapsed",
    )  # fmt: skip
    if not path:
        return _draft("file:", Script("job.py", ""))
    return _draft(f"file:{path}", server_scripts.read(path))


def _draft(origin: str, script: Script) -> Draft:
    known = st.session_state.get(_NOW)
    if isinstance(known, Draft) and known.origin == origin:
        return known
    revision = st.session_state[_TURN] = st.session_state.get(_TURN, -1) + 1
    before: Draft | None = st.session_state.get(_TOUCHED, {}).get(origin)
    anew = before or Draft(origin, script.name, script.code, script.source, script.args, revision, files=script.files, conf=script.conf)
    draft = replace(anew, revision=revision)
    keep(draft)
    if before:
        undo.offer(f"{before.script} is as you changed it", partial(_unchanged, draft))
    return draft


def _unchanged(draft: Draft) -> str:
    """Reads the script again, without the edits."""
    st.session_state.get(_TOUCHED, {}).pop(draft.origin, None)
    st.session_state.pop(_NOW, None)
    return f"{draft.script} is as it was read"


def draw(draft: Draft) -> RunScript:
    """Draws the form and returns its change. Invalid (`form.arguments`, `job.confs`, `resources.size`, `resources.cpus`) where the text
    cannot be read."""
    turn = draft.revision
    taken = {job.job.name for job in session.workspace().ask(ListJobs())}
    with st.container(border=True, key="card_new_job"):
        section("Job")
        begins = free_name(PurePath(draft.script).stem, taken) if draft.code or draft.origin != "pasted" else ""
        name = st.text_input("Name", begins, key=f"new_name_{turn}", max_chars=100, placeholder="my_job")
        job_names.check((name or "").strip(), taken)
        arguments = st.text_area(
            "Arguments",
            shlex.join(resolved(draft)),
            key=f"new_args_{turn}",
            height=112,
            help="As in a shell. {output} becomes the job's own output directory, {job} its name.",
        )
        on = runs_on.inputs(RunsOn(), "new", turn)
        sinks = st.text_input(
            "Spark's own metrics", key=f"new_sinks_{turn}", placeholder="graphite://host:2003",
            help=f"Where Spark itself sends them: {PRESETS}. Several with spaces between them. They become confs of the job.",
        )  # fmt: skip
        home = homes.field("", f"new_home_{turn}")
        limits = resources.inputs(Limits(), f"new_{turn}")
        conf = _confs(draft)
        is_logged = event_log.box(False, f"new_event_log_{turn}")
        connectors.draw(draft.code, Runtime(on.python, on.java_home), conf)
        code_rights()
    args = words(arguments or "")
    memory_bytes, cpus = limits.differing(ALL)
    title = (name or "").strip()
    return RunScript(
        name=title,
        script=script_name(draft, title),
        code=draft.code,
        args=args,
        conf={**conf, ENABLED: "true"} if is_logged else conf,
        spark_metrics=names(sinks or ""),
        master=on.master or DEFAULT,
        python=on.python,
        java_home=on.java_home,
        source=draft.source,
        files=draft.files,
        requirements=on.requirements.strip() or None,
        memory_bytes=memory_bytes,
        cpus=cpus,
        home=home,
    )


def _confs(draft: Draft) -> Mapping[str, str]:
    st.html('<p class="tm-field">Spark confs</p>')
    rows = st.data_editor(
        [*({"Conf": name, "Value": value} for name, value in draft.conf.items()), {"Conf": "", "Value": ""}],
        key=f"new_confs_{draft.revision}",
        num_rows="dynamic",
        column_config=CONFS,
        hide_index=True,
        alt="Spark confs of the new job",
    )
    return pairs([(row.get("Conf"), row.get("Value")) for row in rows])


def script_name(draft: Draft, name: str = "") -> str:
    """The script's file name; of pasted code its job's, as SQL where it begins with a statement of SQL."""
    if draft.origin != "pasted":
        return draft.script
    return f"{name or 'job'}{sql_jobs.SUFFIX if sql_jobs.looks_like(draft.code) else '.py'}"


def resolved(draft: Draft) -> list[str]:
    """The arguments with the directory of the generated input, where the job that makes it exists."""
    example = gallery.example(draft.script)
    place = made(example.generator) if example else ""
    return [arg.replace(gallery.MADE, place or NO_INPUT) for arg in draft.args]


def made(generator: str) -> str:
    """The output directory of a generator, which stands beside its checkpoints (`data/README.md`); empty where there is no such job."""
    try:
        run = session.workspace().ask(ShowJob(generator)).summary.run
    except NotFound:
        return ""
    return f"{run.checkpoints.rpartition('/checkpoints')[0]}/output" if run and run.checkpoints else ""


def pairs(rows: Sequence[tuple[str | None, str | None]]) -> Mapping[str, str]:
    """Confs by name, empty rows left out; Invalid (`job.confs`) for a value without a name."""
    confs: dict[str, str] = {}
    for name, value in rows:
        name, value = (name or "").strip(), (value or "").strip()
        if value and not name:
            raise Invalid("job.confs", f"The value {value!r} has no Spark conf beside it", "Write spark.… beside it, or remove the row.")
        if name:
            confs[name] = value
    return confs
