"""The environment of jobs, workspace and server, and one action: to rebuild the index."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import PurePath

import streamlit as st

from dashboard import address, once, permitted, session
from dashboard.components.table import Cell, Column, Row, number, table
from dashboard.views import narrowing
from dashboard.views.audit import audit
from dashboard.views.backups import backups
from dashboard.views.commands import commands
from dashboard.views.homes import homes
from dashboard.views.overview.attention import LITTLE_LEFT
from dashboard.views.pushes import pushes
from dashboard.views.tokens import tokens
from dashboard.widgets import chip, confirm, errors_shown, facts, page_header, section
from pipelines.domain.about import About, Runtime, Server, ServerRole, Storage, WarmProcess
from pipelines.domain.access import Role
from pipelines.domain.audit import Result
from pipelines.verbs.system import RebuildCatalog, ShowAbout
from pipelines.words import connectors, formats, resources

RUNTIMES = (
    Column("Python"),
    Column("Version"),
    Column("Spark"),
    Column("Java"),
    Column("Java home"),
    Column("Versions of jobs", "right", "Versions of jobs that run on it"),
)
WARM = (Column("Process"), Column("Python", wide=True), Column("Does"), Column("Memory", "right"))
WORKS = {"pipelines.sandbox": "works on state", "pipelines.driver": "runs a batch", "pipelines.driver.planning": "plans code"}
ADDRESS = {"result": address.one_of("All", *Result), "page": address.NUMBER, **narrowing.ADDRESS}
REBUILD = "The index is emptied and filled again from the workspace's files, in one step: until it is whole the pages show the old one."


def page() -> None:
    """Draws the settings."""
    with errors_shown():
        with st.spinner("Looking at the storage …", show_time=True):
            about = session.workspace().ask(ShowAbout())
        with page_header("Settings", caption=f"Tidemark {escape(about.server.version)}"):
            commands([ShowAbout()], key="settings_command")
        _runtimes(about)
        _storage(about.storage)
        homes()
        _warm(about)
        _server(about.server)
        pushes(about.pushes)
        tokens()
        backups()
        audit()


def _runtimes(about: About) -> None:
    section("Runtimes", "what jobs run on")
    rows = [_runtime(runtime) for runtime in about.runtimes]
    table(RUNTIMES, rows, key="runtimes", label="Runtimes", clickable=False)
    for runtime in about.runtimes:
        if runtime.problem:
            st.warning(f"No job runs on `{runtime.python}`: {runtime.problem}. {runtime.hint}", icon=":material/warning:")
    for spark, connector in dict.fromkeys(
        (runtime.spark_version, connector) for runtime in about.runtimes for connector in runtime.connectors
    ):
        st.caption(f"{connector.system} on Spark {spark} {connectors.need(connector)}")
    st.caption(f"A new job runs on `{about.default_master}` unless it names another master. A local Spark listens on this machine alone.")


def _runtime(runtime: Runtime) -> Row:
    cells = (
        Cell(runtime.python, mono=True),
        Cell(runtime.python_version or formats.MISSING),
        Cell(runtime.spark_version or "not installed"),
        Cell(runtime.java_version or "none that fits"),
        Cell(
            "with the Python packages" if runtime.java_packaged else runtime.java or formats.MISSING,
            mono=not runtime.java_packaged,
            hint=runtime.java,
        ),
        number(runtime.versions, formats.count),
    )
    return Row(runtime.python, cells)


def _storage(storage: Storage) -> None:
    section("Storage", "where jobs and savepoints are kept")
    left, right = st.columns([1.25, 1], gap="small")
    with left, st.container(border=True, key="card_storage", height="stretch"):
        facts(_places(storage))
        facts(_abilities(storage))
        given = "".join(chip(name, "green" if there else "gray", mono=True, hint=_given(there)) for name, there in storage.s3.items())
        st.html(f'<p class="tm-hint">S3 settings in the environment (green: set)</p><span class="tm-levels">{given}</span>')
    with right, st.container(border=True, key="card_index", height="stretch"):
        _catalog(storage)


def _places(storage: Storage) -> Sequence[tuple[str, str]]:
    disk = storage.disk
    free = f"{formats.size(disk.free_bytes)} of {formats.size(disk.total_bytes)}"
    savepoints = f"{formats.plural(storage.savepoints, 'savepoint')}, {formats.size(storage.savepoint_bytes)} on disk"
    tight = disk.free_bytes < LITTLE_LEFT * disk.total_bytes
    return [
        ("Workspace", f'<span class="tm-mono tm-path">{escape(storage.workspace).replace("/", "/<wbr>")}</span>'),
        ("Format", f"{storage.workspace_format}, id <span class='tm-mono'>{escape(storage.workspace_id) or 'none'}</span>"),
        ("Savepoints", f"{savepoints} <span class='tm-muted'>together: shared bytes counted once</span>"),
        ("Free", f"{free} {chip('nearly full', 'orange') if tight else ''}"),
    ]


def _abilities(storage: Storage) -> Sequence[tuple[str, str]]:
    disk = storage.disk
    return [
        ("File system", escape(disk.file_system) or "unknown"),
        ("Hard links", _works(disk.hard_links, "savepoints share the checkpoint's bytes", "savepoints are copies")),
        ("Reflinks", _works(disk.reflinks, "copies share blocks", "a copy takes its full size")),
    ]


def _works(does: bool, then: str, otherwise: str) -> str:
    mark = chip("works", "green", dot=True) if does else chip("not here", "gray", dot=True)
    return f'{mark} <span class="tm-muted">{then if does else otherwise}</span>'


def _given(there: bool) -> str:
    return "Set in the server's environment; its value is never shown" if there else "Not set"


def _catalog(storage: Storage) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="catalog_head"):
        size = f"{formats.size(storage.catalog_bytes)}, format {storage.catalog_format}"
        st.html(f'<div class="tm-section"><h2>Index</h2><span class="tm-caption">{size}</span></div>', width="stretch")
        if permitted.button("Rebuild…", Role.ADMIN, icon=":material/restart_alt:", key="rebuild"):
            title = f"Rebuild the index of {PurePath(storage.workspace).name}"
            confirm(title, REBUILD, "Rebuild", _rebuild, details="The files stay as they are. A large workspace takes minutes.")
    rebuilt = st.session_state.pop("rebuilt_rows", None)
    if rebuilt is not None:
        st.success(f"The index was made anew: {rebuilt:,} rows.", icon=":material/check:")
    facts([(name.replace("_", " "), formats.count(count)) for name, count in storage.rows.items()])


def _rebuild() -> None:
    st.session_state["rebuilt_rows"] = sum(once.do(RebuildCatalog()).values())


def _warm(about: About) -> None:
    section("Warm Sparks", "processes that wait for the next job, verdict, reading or proof")
    rows = [_warm_process(process) for process in about.warm]
    table(
        WARM,
        rows,
        key="warm",
        label="Warm Sparks",
        clickable=False,
        empty="None runs now. The next verdict, reading or proof starts one, and so does a look at the plan of a fork.",
    )
    used = (
        f"{resources.size(about.warm_bytes)} of at most {resources.size(about.warm_most_bytes)} of memory"
        if about.warm_most_bytes
        else "None is kept"
    )
    st.caption(f"{used} (`TIDEMARK_WARM_MIB`). An unused one ends after five minutes; one that a job has begun in is that job's.")


def _warm_process(process: WarmProcess) -> Row:
    does = WORKS.get(process.work, process.work) or ("waits" if process.is_warm else "is warmed up")
    python = Cell(process.python or "the server's own", mono=bool(process.python))
    return Row(str(process.pid), (Cell(str(process.pid)), python, Cell(does), number(process.memory_bytes, _memory)))


def _memory(value: float | None) -> str:
    return formats.MISSING if value is None else resources.size(int(value))


def _server(server: Server) -> None:
    section("Server", "the process that draws this page")
    with st.container(border=True, key="card_server"):
        facts(
            [
                ("Role", _role(server)),
                ("Address", f'<span class="tm-mono">{escape(server.url) or escape(session.url())}</span>'),
                ("Who reaches it", _reached(server)),
                ("Version", f"{escape(server.version)}{_commit(server)}"),
                ("Process", f"{server.pid}"),
                ("Jobs' code runs as", _code_rights(server)),
                ("Limits of jobs are held", f'<span class="tm-muted">{escape(resources.CAN[server.holds])}</span>'),
                ("Drivers' logs", f'<span class="tm-mono">{escape(server.driver_logs)}</span>'),
                ("Log of the server", "stderr of the server"),
            ]
        )


def _role(server: Server) -> str:
    if server.role is ServerRole.ACTIVE:
        return "active"
    return f'{chip("standby", "orange", dot=True)} <span class="tm-muted">of {escape(session.active()) or "an unnamed server"}</span>'


def _reached(server: Server) -> str:
    how = f"with a token or signed in with {escape(server.provider)}" if server.provider else "with a token"
    if server.loopback_only:
        return f'{chip("this machine alone", "green", dot=True)} <span class="tm-muted">{how}</span>'
    return f'{chip("others too", "orange", dot=True)} <span class="tm-muted">{how}, encrypted by {escape(server.encryption)}</span>'


def _code_rights(server: Server) -> str:
    if server.code_apart:
        return f'{chip(escape(server.code_runs_as), "green", mono=True)} <span class="tm-muted">apart from the server</span>'
    apart = "the server's own user: it may do all that the server may; <span class='tm-mono tm-whole'>--run-as</span> names another"
    return f'{chip(escape(server.code_runs_as), "orange", mono=True)} <span class="tm-muted">{apart}</span>'


def _commit(server: Server) -> str:
    return f' · commit <span class="tm-mono">{escape(server.commit[:12])}</span>' if server.commit else ""
