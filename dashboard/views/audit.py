"""The audit on the page of the settings: who changed what or was refused, and the check of its chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dashboard import paging, permitted, session
from dashboard.components.table import Cell, Column, Row, clock, moment, number, table
from dashboard.dialogs import dialog
from dashboard.views.commands import commands
from dashboard.views.endings import ending
from dashboard.widgets import Tone, error_box, message_box, plain_facts, section
from pipelines.domain.access import Role
from pipelines.domain.audit import AuditLine, Result, Verified
from pipelines.domain.errors import TidemarkError
from pipelines.verbs.audit import ListAudit, PruneAudit, VerifyAudit
from pipelines.words import formats

LIMIT = 1_000
ALL = "All"
COLUMNS = (
    *(
        Column("Number", "right"),
        Column("When"),
        Column("Time"),
        Column("By"),
        Column("From", hint="The client's address, or the shell's user"),
    ),
    *(Column("Verb"), Column("Subject", wide=True), Column("Result"), Column("Code")),
)
TONES: dict[Result, Tone] = {
    Result.REFUSED: "orange",
    Result.FAILED: "red",
    Result.BEGUN: "blue",
    Result.MENDED: "orange",
    Result.REMOVED: "orange",
}
_VERIFIED = "audit_verified"


def audit() -> None:
    """Draws the section; who is no admin is told who may look."""
    section("Audit", "who changed what or was refused, from where, with what result")
    refused = session.refusal(Role.ADMIN)
    if refused:
        st.caption(refused)
        return
    question = _question()
    lines = session.workspace().ask(question)
    cut = paging.cut(lines, session.selected("page"))
    now = session.now_ms()

    def whole() -> list[Row]:
        return _rows(lines, now)

    empty = "Nothing fits. What is changed or refused from now on stands here."
    table(COLUMNS, _rows(cut.items, now), key="audit", label="Audit", empty=empty, clickable=False, cut=cut, whole=whole, max_height=420)
    _foot(lines, question.before)
    _check()


def _question() -> ListAudit:
    """The question that the bar selects; all of it is in the address."""
    chosen: Any = {"label_visibility": "collapsed", "bind": "query-params", "on_change": session.select}
    chosen["kwargs"] = {"page": "", "before": ""}
    with st.container(horizontal=True, vertical_alignment="center", key="audit_bar"):
        result = st.pills("Result", [ALL, *Result], default=ALL, required=True, key="result", **chosen)
        st.space("stretch")
        commands([ListAudit(), VerifyAudit()], key="audit_command")
        placeholder = "Filter the audit"
        words = st.text_input(placeholder, key="filter", placeholder=placeholder, type="search", width=220, **chosen)
    before = session.selected("before")
    kept = None if result in (None, ALL) else Result(result)
    return ListAudit(LIMIT, result=kept, text=words or "", before=int(before) if before.isdecimal() else 0)


def _rows(lines: Sequence[AuditLine], now: float) -> list[Row]:
    return [_row(line, now) for line in lines]


def _row(line: AuditLine, now: float) -> Row:
    cells = (
        number(line.number, formats.count),
        moment(line.at_ms, now),
        clock(line.at_ms, session.zone(), muted=True),
        Cell(line.by or formats.MISSING, strong=bool(line.by)),
        Cell(line.origin or formats.MISSING, mono=True, muted=True),
        Cell(line.verb, mono=True),
        Cell(line.subject or formats.MISSING, hint=line.subject),
        Cell(line.result, tone=TONES.get(line.result, "gray")),
        Cell(line.code or line.operation or formats.MISSING, mono=True, muted=True),
    )
    return Row(str(line.number), cells)


def _foot(lines: Sequence[AuditLine], before: int) -> None:
    """The way to older lines and back; nothing where these are all."""
    if len(lines) < LIMIT and not before:
        return
    with st.container(horizontal=True, horizontal_alignment="right", key="audit_older"):
        st.button("Newest", key="audit_newest", disabled=not before, on_click=session.select, kwargs={"before": "", "page": ""})
        place = str(lines[-1].number) if len(lines) == LIMIT else ""
        st.button("Older", key="audit_next", disabled=not place, on_click=session.select, kwargs={"before": place, "page": ""})


def _check() -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key="audit_check"):
        says = "A hash that you kept (optional)"
        kept = st.text_input(
            says,
            key="audit_last",
            width=520,
            help="Printed by an earlier check: finds lines that were cut off or rewritten since",
        )
        if st.button("Check the chain", icon=":material/link:", key="audit_verify"):
            st.session_state[_VERIFIED] = session.workspace().ask(VerifyAudit(kept or ""))
        if permitted.button("Remove old entries…", Role.ADMIN, icon=":material/delete:", key="audit_prune"):
            _ask_prune()
    verified: Verified | None = st.session_state.pop(_VERIFIED, None)
    if verified is None:
        return
    if verified.findings:
        problems = [finding.text for finding in verified.findings]
        message_box(f"The audit was changed: {formats.plural(len(problems), 'finding')}", "; ".join(problems))
    else:
        whole = f"{formats.plural(verified.lines, 'line')}, each written after the one before it.{_removed(verified)}"
        message_box("The chain is whole", f"{whole} Keep the last hash elsewhere: `{verified.last}`", tone="green")


def _removed(verified: Verified) -> str:
    """Which entries are not there because somebody asked for it."""
    return "".join(f" {each.first} to {each.last} were removed by {each.by or 'the owner'}." for each in verified.removed)


def _ask_prune() -> None:
    @dialog("Remove old entries of the audit")
    def ask() -> None:
        through = st.number_input("Up to entry", min_value=1, value=None, step=1, key="pruned_through", placeholder="A number of the list")
        change = _planned(PruneAudit(int(through))) if through else None
        st.caption("Copy the files elsewhere first: put back, they are checked again. The audit says who removed them.")
        ending(change, "Remove", "prune_audit", icon=":material/delete:", danger=True)

    ask()


def _planned(change: PruneAudit) -> PruneAudit | None:
    """The change, once its files are shown; None where it is refused."""
    try:
        plan = session.workspace().plan(change)
    except TidemarkError as error:
        error_box(error)
        return None
    plain_facts([(each.path, f"entries {each.first} to {each.last}, {formats.size(each.bytes)}") for each in plan.files])
    return change
