"""Another level of the log of a job that runs: the button, and the dialog that shows what was changed and changes it."""

from __future__ import annotations

import streamlit as st

from dashboard import once, permitted, session, undo
from dashboard.dialogs import dialog
from dashboard.views.endings import ending
from dashboard.widgets import errors_shown
from pipelines.domain.access import Role
from pipelines.domain.jobs import JobDetail
from pipelines.domain.log_levels import ROOT, Level
from pipelines.verbs.log_level import SetLogLevel, ShowLogLevels
from pipelines.words import log_levels as words


def button(name: str, detail: JobDetail) -> None:
    """Nothing of a job that does not run: its next run begins with what its version says."""
    run = detail.summary.run
    if run is None or not run.state.live:
        return
    if permitted.button("Level…", Role.OPERATOR, key="log_level", icon=":material/tune:", type="tertiary"):
        _ask(name)


def _ask(name: str) -> None:
    @dialog(f"Set the level of {name}'s log")
    def ask() -> None:
        with errors_shown():
            for line in words.lines(session.workspace().ask(ShowLogLevels(name)), session.now_ms()):
                st.text(line)
            levels = list(Level)
            level = st.selectbox("Level", levels, levels.index(Level.DEBUG), format_func=lambda level: level.value, key="level_of")
            logger = st.text_input("Logger", ROOT, key="level_logger", help="A class or a package, with all in it; root is the whole log")
            st.caption(words.ENDS)
            ending(SetLogLevel(name, level, (logger or ROOT).strip()), "Set level", "log_level_set", _set)

    ask()


def _set(change: SetLogLevel) -> None:
    levels = once.do(change)
    undo.say(f"{change.job}: {'; '.join(words.lines(levels, session.now_ms()))}")
