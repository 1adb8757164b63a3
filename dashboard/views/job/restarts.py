"""Restarts of a job: its strategy with the dialog that changes it, every failure with what became of it, and a poison batch."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import streamlit as st

from dashboard import navigation, paging, permitted, session
from dashboard.components.table import Cell, Column, Paged, Row, moment, number, table
from dashboard.dialogs import dialog
from dashboard.views.endings import ending
from dashboard.views.job import actions, input_rows, resume
from dashboard.widgets import error_box, errors_shown, message_box, section
from pipelines.domain.access import Role
from pipelines.domain.errors import TidemarkError
from pipelines.domain.jobs import JobDetail, Run
from pipelines.domain.moments import duration_ms, spelt_duration
from pipelines.domain.restart_strategies import OPTIONS, RestartStrategy, Strategy, changed
from pipelines.domain.restarts import FailedBatch, SourceSpan
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.restart_strategy import SetRestartStrategy
from pipelines.words import formats
from pipelines.words import restarts as words

COLUMNS = (
    Column("Run"),
    Column("Began"),
    Column("Failed"),
    Column("Ran for", "right"),
    Column("Cause"),
    Column("At batch", "right"),
    Column("Then", wide=True),
)
SAYS = {
    Strategy.USUAL: "Exponential delay; none for a job whose queries all end by themselves.",
    Strategy.NONE: "A job that fails stays failed.",
    Strategy.FIXED_DELAY: "A fixed number of restarts with a fixed delay. The count begins anew when somebody starts the job.",
    Strategy.EXPONENTIAL_DELAY: "The delay grows with each failure; after a long time without one it begins anew with the first delay.",
    Strategy.FAILURE_RATE: "The job restarts until it has failed too often within an interval.",
}
LABELS = {
    "attempts": ("Restarts at most", "1"),
    "delay_ms": ("Delay", "1s"),
    "initial_backoff_ms": ("First delay", "1s"),
    "max_backoff_ms": ("Longest delay", "1m"),
    "backoff_multiplier": ("Delay multiplier", "1.5"),
    "reset_backoff_ms": ("First delay again after, without a failure", "1h"),
    "jitter_factor": ("Jitter, as a share of the delay", "0.1"),
    "failures": ("Failures at most in an interval", "1"),
    "interval_ms": ("Interval", "1m"),
    "poison_after": ("Stop after failures at one batch", "3"),
}
"""Field -> its label and its default, in the order of the dialog."""


def draw(detail: JobDetail, now: float) -> None:
    """Every failure of the job, newest first; nothing where there is none."""
    failed = [run for run in detail.runs if run.exit is not None and run.restart is not None]
    if not failed:
        return
    with st.container(border=True, key="card_restarts"):
        section("Failures and restarts", f"{len(failed):,}, newest first · {words.strategy(detail.summary.job)}")
        rows = Paged(paging.chosen(failed, KEYS, "failures"), lambda shown: [_row(run, now) for run in shown])
        table(COLUMNS, rows, key="restarts", label="Failures and restarts", clickable=False, max_height=300)


def _ran(run: Run) -> int | None:
    return run.exit.at_ms - run.started_ms if run.exit and run.started_ms else None


KEYS: Mapping[str, paging.Key[Run]] = {
    "Run": lambda run: run.id,
    "Began": lambda run: run.attempt,
    "Failed": lambda run: run.ended_ms,
    "Ran for": _ran,
    "Cause": lambda run: (run.exit.error_class or run.exit.reason) if run.exit else None,
    "At batch": lambda run: run.restart.batch.batch if run.restart and run.restart.batch else None,
    "Then": lambda run: run.restart.at_ms if run.restart else None,
}
"""Column -> what it is ordered by."""


def _row(run: Run, now: float) -> Row:
    ended, decision = run.exit, run.restart
    cause = Cell(ended.error_class or ended.reason, mono=bool(ended.error_class), hint=ended.message) if ended else Cell()
    batch = decision.batch if decision else None
    cells = (
        Cell(run.id, mono=True, strong=True),
        Cell(f"restart {run.attempt}" if run.attempt else "by hand", muted=not run.attempt),
        moment(run.ended_ms, now),
        number(_ran(run), formats.duration),
        cause,
        number(batch.batch if batch else None, formats.count),
        Cell(words.next_step(run, now), muted=True),
    )
    return Row(run.id, cells)


def poison(name: str, run: Run) -> None:
    """The batch that the job was stopped at: what it reads of each source, its rows where they are asked for, and the ways on."""
    decision = run.restart
    if decision is None or decision.batch is None:
        return
    batch = decision.batch
    spans = "".join(map(_source, batch.sources))
    message_box(f"Poison batch: {words.failed_at(decision)}", words.mends(batch), tone="orange")
    if spans:
        st.html(f'<div class="tm-hint">This batch reads<ul>{spans}</ul></div>')
    with st.container(horizontal=True):
        _ways_on(name, batch)
        begins = input_rows.button()
    input_rows.draw(name, run.id, begins=begins)


def _ways_on(name: str, batch: FailedBatch) -> None:
    """Buttons of what can be done; before the first batch of a query there is no state to fork, or to go on from."""
    fork, upgrade, past = "Fork with changed code…", "Resume with changed code…", "Leave it out…"
    if not batch.is_first and permitted.button(fork, Role.AUTHOR, type="primary", icon=":material/call_split:", key="poison_fork"):
        actions.ask_fork(name)
    rank = "primary" if batch.is_first else "secondary"
    if permitted.button(upgrade, Role.AUTHOR, type=rank, icon=":material/upgrade:", key="poison_upgrade"):
        navigation.go("upgrade", job=name)
    if not batch.is_first and permitted.button(past, Role.OPERATOR, icon=":material/skip_next:", key="poison_past"):
        resume.ask_past(name, batch.batch)


def _source(source: SourceSpan) -> str:
    files = f'<br><span class="tm-mono">{"<br>".join(map(escape, source.files))}</span>' if source.files else ""
    return f"<li>{escape(source.source)}: {escape(words.span(source))}{files}</li>"


def ask_strategy(job: str) -> None:
    """Asks for the job's restart strategy."""

    @dialog(f"Set restart strategy of {job}")
    def ask() -> None:
        with errors_shown():
            own = session.workspace().ask(ShowJob(job)).summary.job.restarts
            names = list(Strategy)
            chosen = st.selectbox("Strategy", names, names.index(own.strategy), format_func=lambda name: name.value, key="restart_strategy")
            st.caption(SAYS[chosen])
            shown = own if chosen is own.strategy else RestartStrategy(chosen, poison_after=own.poison_after)
            fields = [name for name in LABELS if name in OPTIONS[chosen] or name == "poison_after"]
            typed = {name: _typed(name, shown) for name in fields}
            st.caption("An empty field is the default. Forks of this job begin with its strategy.")
            change = _change(job, own, chosen, typed)
            ending(change, "Set strategy", "restart_strategy_set")

    ask()


def _typed(name: str, shown: RestartStrategy) -> str:
    label, usual = LABELS[name]
    placeholder = "without end" if name == "attempts" and shown.strategy is Strategy.EXPONENTIAL_DELAY else usual
    before = getattr(shown, name)
    value = "" if before is None else spelt_duration(before) if name.endswith("_ms") else str(before)
    return st.text_input(label, value, placeholder=placeholder, key=f"restart_{shown.strategy.value}_{name}") or ""


def _change(job: str, own: RestartStrategy, chosen: Strategy, typed: dict[str, str]) -> SetRestartStrategy | None:
    """What differs from the strategy as it is; None where nothing does, or something cannot be, which is said."""
    try:
        given = {name: _read(name, text) for name, text in typed.items() if text.strip() or name != "jitter_factor"}
        before = own if chosen is own.strategy else RestartStrategy(chosen, poison_after=own.poison_after)
        differing = {name: value for name, value in given.items() if value != _number(before, name)}
        if changed(own, chosen, differing) == own:
            return None
    except TidemarkError as error:
        error_box(error)
        return None
    except ValueError:
        message_box("That is no number", "Give one, or leave the field empty.", tone="orange")
        return None
    return SetRestartStrategy(job, chosen if chosen is not own.strategy else None, **differing)  # type: ignore[arg-type]


def _number(strategy: RestartStrategy, name: str) -> int | float | None:
    """What the field has: 0 for its default, but of the jitter, which may be 0."""
    value: int | float | None = getattr(strategy, name)
    return value if name == "jitter_factor" else value or 0


def _read(name: str, text: str) -> int | float:
    """0 for an empty field."""
    if not text.strip():
        return 0
    if name.endswith("_ms"):
        return duration_ms(text)
    return float(text) if name in ("backoff_multiplier", "jitter_factor") else int(text)
