"""Backups of the workspace on the page of the settings."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TypeVar

import streamlit as st

from dashboard import permitted, session
from dashboard.components.table import Cell, Column, Row, table
from dashboard.dialogs import dialog
from dashboard.views import operations
from dashboard.views.endings import ending, planned
from dashboard.views.savepoints.exports import CREDENTIALS
from dashboard.widgets import errors_shown, facts, section
from pipelines.domain.access import Role
from pipelines.domain.operations import Operation
from pipelines.verbs.backups import CheckBackup, CreateBackup, ListBackups
from pipelines.verbs.verb import Change
from pipelines.words import backups as words
from pipelines.words.formats import Facts

P = TypeVar("P")

PLACES = "s3://bucket/tidemark, /mnt/backup/tidemark"
COLUMNS = (
    *(Column("Backup"), Column("Made"), Column("Jobs", "right"), Column("Savepoints", "right")),
    *(Column("In all", wide=True), Column("Copied", "right", "What it added to that place")),
)


def backups() -> None:
    """Draws the section: a place, what is there, and the button that backs up to it."""
    section("Backups", "copies of the workspace, made while it runs")
    refused = session.refusal(Role.ADMIN)
    if refused:
        st.caption(refused)
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="backup_bar"):
        url = (st.text_input("Place", key="backup_url", placeholder=PLACES, help="A folder on the server, or a URL") or "").strip()
        why_not = None if url else "Enter a place first"
        if permitted.button("Back up…", Role.ADMIN, icon=":material/backup:", key="backup", disabled=not url, help=why_not):
            _ask(url)
        if permitted.button("Check…", Role.ADMIN, icon=":material/fact_check:", key="check_backup", disabled=not url, help=why_not):
            _ask_check(url)
    st.caption(f"{CREDENTIALS} A backup fills an empty workspace, before a server has it: `backup restore URL --workspace FOLDER`.")
    if url:
        with errors_shown():
            _table(url)


def _table(url: str) -> None:
    listed = session.workspace().ask(ListBackups(url))
    now = session.now_ms()
    rows = [Row(backup.id, tuple(Cell(text, mono=not at) for at, text in enumerate(words.row(backup, now)))) for backup in listed]
    table(COLUMNS, rows, key="backups", label="Backups", empty="There is no backup at this place.", clickable=False, max_height=300)


def _ask(url: str) -> None:
    @dialog("Back the workspace up", width="medium")
    def ask() -> None:
        change = CreateBackup(url)
        ready = _shown(change, words.plan)
        ending(change, "Back up", "create_backup", operations.begin, ready=ready, icon=":material/backup:")

    ask()


def _ask_check(url: str) -> None:
    @dialog("Check a backup", width="medium")
    def ask() -> None:
        backup = (st.text_input("Backup", key="checked_backup", placeholder="the newest", help="Its id, as the list has it") or "").strip()
        st.caption("Each of its files is read where it lies, and compared with its checksum. Nothing is restored.")
        change = CheckBackup(url, backup)
        ready = _shown(change, lambda plan: words.check(plan, session.now_ms()))
        ending(change, "Check", "check_backup", operations.begin, ready=ready, icon=":material/fact_check:")

    ask()


def _shown(change: Change[Operation, P], facts_of: Callable[[P], Facts]) -> bool:
    """Shows the plan of a change; False where it is refused, with the error shown."""
    plan = planned(change)
    if plan is None:
        return False
    facts([(name, escape(text)) for name, text in facts_of(plan)])
    return True
