"""The audit on the page of the settings: who changed what or was refused, and the check of its chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from dashboard import permitted, session
from dashboard.components.table import Cell, Column, Paged, Row, clock, moment, number, table
from dashboard.dialogs import dialog
from dashboard.paging import Key
from dashboard.views import narrowing, ranges
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
TEXTS = {
    "verb": narrowing.Text("Verb", "savepoint, stop, token create", "A command by its words"),
    "by": narrowing.Text("By", "a token's name", "Who did it: a token's name, or whom events name"),
}
TIMES = (*narrowing.TIMES, "Number")
KEYS: Mapping[str, Key[AuditLine]] = {
    "Number": lambda line: line.number,
    "When": lambda line: line.at_ms,
    "Time": lambda line: line.at_ms,
    "By": lambda line: line.by or None,
    "From": lambda line: line.origin or None,
    "Verb": lambda line: line.verb,
    "Subject": lambda line: line.subject or None,
    "Result": lambda line: line.result,
    "Code": lambda line: line.code or line.operation or None,
}
"""What each column is sorted by."""
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
    cut = narrowing.page(lines, KEYS, narrowing.order(KEYS), TIMES)
    now = session.now_ms()
    empty = "Nothing fits. What is changed or refused from now on stands here."
    table(COLUMNS, Paged(cut, lambda shown: _rows(shown, now)), key="audit", label="Audit", empty=empty, clickable=False, max_height=420)
    further = str(lines[-1].number) if len(lines) == LIMIT else ""
    narrowing.turn([line.at_ms for line in lines], further, question.sort, key="audit")
    _check()


def _question() -> ListAudit:
    """The question that the bar selects; all of it is in the address."""
    chosen: Any = {"label_visibility": "collapsed", "bind": "query-params", "on_change": narrowing.begin_anew}
    with st.container(horizontal=True, vertical_alignment="center", key="audit_bar"):
        result = st.pills("Result", [ALL, *Result], default=ALL, required=True, key="result", **chosen)
        st.space("stretch")
        slot = st.container(width="content")
        placeholder = "Filter the audit"
        words = st.text_input(placeholder, key="filter", placeholder=placeholder, type="search", width=220, **chosen)
        texts = narrowing.more(TEXTS, key="audit_filters")
    before = session.selected("before")
    begin, end = ranges.ends()
    question = ListAudit(
        LIMIT,
        verb=texts["verb"],
        result=None if result in (None, ALL) else Result(result),
        actor=texts["by"],
        text=words or "",
        from_ms=None if begin is None else int(begin),
        to_ms=None if end is None else int(end),
        before=int(before) if before.isdecimal() else 0,
        sort=narrowing.sort(narrowing.order(KEYS), TIMES),
    )
    with slot:
        commands([replace(question, limit=ListAudit().limit), VerifyAudit()], key="audit_command")
    return question


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
