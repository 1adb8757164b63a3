"""The tree of versions: jobs, savepoints and forks over time; one point in detail, or two and what differs between them."""

from __future__ import annotations

from collections.abc import Collection
from html import escape

import streamlit as st

from dashboard import address, navigation, session
from dashboard.components.version_tree import version_tree
from dashboard.drawing.families import CHOICES, Page, families, page_of
from dashboard.drawing.figures import BLUE, ORANGE, RED
from dashboard.drawing.lineage import FOLDED
from dashboard.health import health
from dashboard.progress import kind_of
from dashboard.views import edges, operations
from dashboard.views.commands import commands
from dashboard.views.live import live, live_switch
from dashboard.views.savepoints.head import head
from dashboard.views.versions import bar, difference
from dashboard.views.versions.descendants import Descendant, descendants, picked, related
from dashboard.widgets import STATES, command, empty_state, errors_shown, facts, page_header, section, state_chip, when
from pipelines.domain.experiments import Tree
from pipelines.domain.savepoints import Savepoint
from pipelines.verbs.experiments import ShowTree
from pipelines.verbs.jobs import ListJobs
from pipelines.verbs.savepoints import ListSavepoints, ShowSavepoint
from pipelines.words import formats
from pipelines.words.savepoints import FULL, NEW, column, points

TEACHES = "Every job is a lane, every savepoint a mark on it, every fork a curve from a mark to a lane of its own."
ADDRESS = {"show": address.one_of(*CHOICES), "page": address.NUMBER}

SHADES = {"orange": ORANGE, "blue": BLUE, "red": RED}


def page() -> None:
    """Draws the tree with what the address selects in it."""
    with errors_shown():
        _draw()


def _draw() -> None:
    tree = session.shared(ShowTree())
    with page_header("Versions", caption=_caption(tree)):
        commands([ShowTree()], key="versions_command")
        if tree.lanes:
            _job_choice(tree)
        on = live_switch()
    if not tree.lanes and not tree.marks:
        _teach()
        return
    operations.under_way(lambda operation: kind_of(operation).checks and operation.subject == session.selected("savepoint"), key="versions")
    live(_tree, on)
    _selection(tree)


def _caption(tree: Tree) -> str:
    """The chips below count families: a job with all of its forks is one."""
    forks = sum(lane.origin_savepoint is not None for lane in tree.lanes)
    counts = (
        f"{formats.plural(len(tree.lanes), 'job')} in {formats.plural(len(families(tree)), 'family', 'families')}",
        formats.plural(len(tree.marks), "savepoint"),
        formats.plural(forks, "fork"),
    )
    return " · ".join(counts) if tree.lanes else ""


def _teach() -> None:
    with empty_state("No versions yet", TEACHES, key="versions"):
        if st.button("Start a job", type="primary", icon=":material/add:"):
            navigation.go("new_job")
        command("python -m pipelines run my_job.py --name my_job", label="or from a shell")


def _job_choice(tree: Tree) -> None:
    names = ["", *(str(lane.job) for lane in tree.lanes)]
    selected = session.selected("job")
    address.check_among("job", names, "job")
    job = st.selectbox(
        "Job",
        names,
        index=names.index(selected) if selected in names else 0,
        format_func=lambda name: name or "All jobs",
        key="versions_job",
        label_visibility="collapsed",
        width=230,
    )
    session.select(job=job or "")


def _tree() -> None:
    """The live part: the picture. A click on a mark or on a job's end chooses that point; a second one is compared with it."""
    with errors_shown():
        tree, now = session.shared(ShowTree()), session.now_ms()
        if _grown(tree):
            st.rerun()
        a, b = session.selected("savepoint"), session.selected("with")
        page = _page(tree, {a, b} - {""}, now)
        if not page.families:
            with st.container(border=True, key="card_none"):
                st.caption("No version fits. Choose other ones, or clear the filter.")
            return
        clicked = version_tree(
            page.families, now_ms=now, key="version_tree", calm=page.calm, selected=a, against=b, health=_health()
        )  # fmt: skip
        bar.pager(page)
        if clicked:
            _clicked(clicked, a, b)


def _health() -> dict[str, tuple[str, str]]:
    """How jobs do that run without a batch, lag or idle: in words and in a colour, as everywhere."""
    told = {str(job.job.name): health(job) for job in session.shared(ListJobs()) if health(job) != STATES[job.state]}
    return {name: (text.lower(), SHADES[tone]) for name, (text, tone) in told.items() if tone in SHADES}


def _page(tree: Tree, chosen: Collection[str], now: float) -> Page:
    """The families that the address names; those of a chosen job are whole."""
    job = session.selected("job")
    every = families(related(tree, job))
    shown = bar.choose(every, now) if len(every) > 1 else every
    whole = [family.root for family in every] if job else [session.selected("whole")]
    return page_of(shown, session.selected("page"), chosen, whole)


def _clicked(clicked: str, a: str, b: str) -> None:
    if clicked.startswith(FOLDED):
        session.select(whole=clicked.removeprefix(FOLDED))
    else:
        a, b = picked(clicked, a, b)
        session.select(savepoint=a, **{"with": b})
    st.rerun()


def _grown(tree: Tree) -> bool:
    """Whether a run or savepoint was added or changed its state since the rest of the page was drawn."""
    now = ([(run.id, run.state) for lane in tree.lanes for run in lane.runs], [mark.id for mark in tree.marks])
    before, st.session_state["versions_seen"] = st.session_state.get("versions_seen", now), now
    return bool(now != before)


def _selection(tree: Tree) -> None:
    """Below the tree: two points compared, one in detail, or how to choose."""
    a, b = session.selected("savepoint"), session.selected("with")
    if a and b:
        difference.draw(a, b)
    elif a in {lane.job for lane in tree.lanes}:
        _job(a)
    elif a:
        _savepoint(tree, session.workspace().ask(ShowSavepoint(a)))
    else:
        st.caption("Click a mark to see what that savepoint holds and what came of it; click a second one to see what differs.")


def _job(job: str) -> None:
    """A job as it is now, which a click on the end of its lane chooses."""
    with st.container(border=True, key="card_selected"):
        link = f'<a href="{navigation.href("job", job=job)}" target="_self">{escape(job)}</a>'
        st.html(f'<div class="tm-head"><strong>{link}</strong><span class="tm-caption">as it is now</span></div>')
        _compare_with(job)


def _savepoint(tree: Tree, savepoint: Savepoint) -> None:
    left, right = st.columns([2.3, 1], gap="small")
    with left, st.container(border=True, key="card_selected", height="stretch"):
        head(savepoint, key="tree", tree_link=False)
        _facts(savepoint)
        _compare_with(savepoint.id)
    with right, st.container(border=True, key="card_descendants", height="stretch"):
        _descendants(tree, savepoint)


def _compare_with(chosen: str) -> None:
    workspace = session.workspace()
    known = {
        str(savepoint.id): f"{savepoint.id} · {savepoint.job} · {points(savepoint)} {savepoint.label}".rstrip()
        for savepoint in workspace.ask(ListSavepoints())
    }
    difference.pick(known, [str(summary.job.name) for summary in workspace.ask(ListJobs()) if summary.run], chosen)


def _facts(savepoint: Savepoint) -> None:
    pairs = [
        ("Job", f'<a href="{navigation.href("job", job=savepoint.job)}" target="_self">{savepoint.job}</a>'),
        ("Version", f'<span class="tm-mono">{savepoint.version}</span>'),
        ("Batch", f"{escape(column(savepoint))}, taken {when(savepoint.created_ms, session.now_ms())}"),
        ("Watermark", formats.exact(savepoint.queries[0].watermark_ms or None, session.zone())),
        (FULL, formats.size(savepoint.bytes)),
        (NEW, formats.size(savepoint.new_bytes)),
    ]
    facts(pairs)


def _descendants(tree: Tree, savepoint: Savepoint) -> None:
    runs = descendants(tree, savepoint.id)
    section("Descendants", formats.plural(len(runs), "job") if runs else "")
    if not runs:
        st.caption("Nothing has begun from here yet. A fork or a resume will be listed here.")
    st.html(f'<div class="tm-rows">{"".join(map(_descendant, runs))}</div>')


def _descendant(descendant: Descendant) -> str:
    link = f'<a href="{navigation.href("job", job=descendant.run.job)}" target="_self">{descendant.run.job}</a>'
    how = "resumed" if descendant.resumed else "forked"
    began = when(descendant.run.started_ms or descendant.run.created_ms, session.now_ms())
    chips = f"{state_chip(descendant.run.state)}{edges.mark(descendant.run.edge)}"
    return f'<div class="tm-head">{link}{chips}<span class="tm-caption">{how} {began}</span></div>'
