"""The runs of a job; the code, arguments and confs of a version, and the difference from the version before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import PurePosixPath

import streamlit as st

from dashboard import session
from dashboard.components.code_editor import code_editor
from dashboard.components.table import Cell, Column, Paged, Row, moment, number, shortened, table
from dashboard.drawing import verdicts
from dashboard.paging import Key
from dashboard.paging import chosen as chosen_page
from dashboard.views import code_files, edges
from dashboard.widgets import STATES, chip, empty_state, section
from pipelines.domain.jobs import JobDetail, Run
from pipelines.domain.texts import changed_lines
from pipelines.domain.versions import Version, options
from pipelines.verbs.experiments import ShowVersion
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.savepoints import ShowSavepoint
from pipelines.words import edges as words
from pipelines.words import formats

COLUMNS = (
    Column("Run"),
    Column("State"),
    Column("Version"),
    Column("Its state"),
    Column("Started"),
    Column("Ran for", "right"),
    Column("Began from"),
    Column("Spark"),
    Column("How it ended"),
)
VIEWS = ("Code", "Changes", "Side by side")


def draw(name: str, detail: JobDetail, now: float) -> None:
    """The runs; a click on one shows its version below."""
    if not detail.runs:
        with empty_state("Never ran", "Each start of the job is listed here with the version that it ran.", key="runs"):
            pass
        return
    shown = session.selected("version") or detail.runs[0].version
    first = next((run for run in reversed(detail.runs) if run.version == shown), None)
    chosen = next((run.id for run in detail.runs if run.version == shown), "")
    section("Runs", f"{len(detail.runs):,}, newest first")
    rows = Paged(chosen_page(detail.runs, _keys(now), "runs"), lambda shown: [_row(run, now) for run in shown])
    clicked = table(COLUMNS, rows, key="runs", label="Runs", selected=chosen, max_height=300)
    if clicked:
        session.select(version=next(run.version for run in detail.runs if run.id == clicked))
        st.rerun(scope="fragment")
    if first is not None:
        edges.draw(first, detail.summary.job)
    _version(name, session.workspace().ask(ShowVersion(shown)), _before(detail.runs, shown))


def _keys(now: float) -> dict[str, Key[Run]]:
    """Column -> what it is ordered by."""
    return {
        "Run": lambda run: run.id,
        "State": lambda run: STATES[run.state][0],
        "Version": lambda run: run.version,
        "Its state": lambda run: words.briefly(run.edge) if run.edge else None,
        "Started": lambda run: run.started_ms or run.created_ms,
        "Ran for": lambda run: _ran(run, now),
        "Began from": lambda run: run.from_savepoint,
        "Spark": lambda run: run.spark_version or None,
        "How it ended": lambda run: (run.exit.error_class or run.exit.reason) if run.exit else None,
    }


def _ran(run: Run, now: float) -> float | None:
    ended = run.ended_ms or (now if run.state.live else None)
    return ended - run.started_ms if ended and run.started_ms else None


def _row(run: Run, now: float) -> Row:
    text, tone = STATES[run.state]
    origin = shortened(run.from_savepoint) if run.from_savepoint else Cell(muted=True)
    end = run.exit
    how = f"{end.error_class or end.reason}" if end else formats.MISSING
    cells = (
        Cell(run.id, mono=True, strong=True),
        Cell(text, tone=tone, live=run.state.live),
        shortened(run.version),
        Cell(words.briefly(run.edge), tone=verdicts.tone(run.edge), hint=edges.hint(run.edge)) if run.edge else Cell(muted=True),
        moment(run.started_ms or run.created_ms, now),
        number(_ran(run, now), formats.duration),
        origin,
        Cell(run.spark_version or formats.MISSING, muted=True),
        Cell(how, hint=end.message if end else "", muted=True),
    )
    return Row(run.id, cells)


def _before(runs: Sequence[Run], version: str) -> str:
    """The version that the job ran before `version`; of a fork the one it came from is its own first."""
    oldest_first: list[str] = [run.version for run in sorted(runs, key=lambda run: run.created_ms)]
    at = oldest_first.index(version) if version in oldest_first else 0
    return next((version_id for version_id in reversed(oldest_first[:at]) if version_id != version), "")


def _version(name: str, shown: Version, earlier_id: str) -> None:
    earlier = session.workspace().ask(ShowVersion(earlier_id)) if earlier_id else _origin(name, shown)
    with st.container(horizontal=True, vertical_alignment="center", key="version_head"):
        head = st.container(width="stretch")
        texts = code_files.texts(shown.files)
        path = code_files.choose(shown.script, texts, f"version_file_{shown.id}")
        view = VIEWS[0]
        if earlier:
            view = st.segmented_control(
                "View", VIEWS, default=VIEWS[0], required=True, key="view", bind="query-params", label_visibility="collapsed"
            ) or VIEWS[0]  # fmt: skip
        code = texts[path] if path else shown.code
        before = "" if earlier is None else code_files.texts(earlier.files).get(path, "") if path else earlier.code
        head.html(_title(shown, earlier, path or shown.script, code, before))
        st.download_button(
            "Download",
            code,
            PurePosixPath(path or shown.script).name,
            "text/x-python",
            icon=":material/download:",
            key="code_download",
            on_click="ignore",
        )
    mode = {"Code": "edit", "Changes": "unified", "Side by side": "split"}[view]
    code_editor(
        code,
        key=f"version_{shown.id}_{earlier.id if earlier else ''}" + f"_{path}" * bool(path),
        original=before,
        mode=mode,  # type: ignore[arg-type]
        readonly=True,
        collapse=view != VIEWS[0],
        height=520,
        label=f"Code of {shown.id}",
        script=path or shown.script,
    )
    left, right = st.columns(2, gap="medium")
    with left:
        section("Arguments")
        st.html(changes(options(shown.args), options(earlier.args) if earlier else None, "No arguments"))
    with right:
        section("Spark confs", f"master {escape(shown.master)}")
        st.html(changes(shown.conf, earlier.conf if earlier else None, "No confs beyond Spark's and the script's own"))


def _origin(name: str, shown: Version) -> Version | None:
    """A fork's first version is compared with the version of the savepoint it came from."""
    origin = session.workspace().ask(ShowJob(name)).summary.job.origin
    if origin is None:
        return None
    parent = session.workspace().ask(ShowSavepoint(origin.savepoint)).version
    return session.workspace().ask(ShowVersion(parent)) if parent != shown.id else None


def _title(shown: Version, earlier: Version | None, name: str, code: str, before: str) -> str:
    added, removed = changed_lines(before, code) if earlier else (0, 0)
    since = f'<span class="tm-caption">since {escape(formats.short_id(earlier.id))}</span>' if earlier else ""
    diff = f"{chip(f'+{added}', 'green', mono=True)}{chip(f'−{removed}', 'red', mono=True)}{since}" if earlier else ""
    return f'<div class="tm-head tm-sub"><h2>{escape(name)}</h2>{chip(shown.id, mono=True)}{diff}</div>'


def changes(now: Mapping[str, str], before: Mapping[str, str] | None, nothing: str) -> str:
    """Names with values as HTML; with `before`, what came, went or changed is marked."""
    names = [*now, *(name for name in (before or {}) if name not in now)]
    if not names:
        return f'<p class="tm-hint">{escape(nothing)}</p>'
    return f'<table class="tm-pairs">{"".join(_pair(name, now.get(name), before) for name in names)}</table>'


def _pair(name: str, value: str | None, before: Mapping[str, str] | None) -> str:
    old = None if before is None else before.get(name)
    if value is None:
        return f'<tr class="gone"><th>{escape(name)}</th><td><del>{escape(old or "")}</del></td></tr>'
    if before is not None and name not in before:
        return f'<tr class="new"><th>{escape(name)}</th><td>{escape(value)}</td></tr>'
    if before is not None and old != value:
        return f'<tr class="changed"><th>{escape(name)}</th><td><del>{escape(old or "")}</del> {escape(value)}</td></tr>'
    return f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>"
