"""The rows of one table of state: key figures, charts of their distribution, and the rows themselves."""

from __future__ import annotations

import streamlit as st

from dashboard import permitted, session
from dashboard.components.panel import panel
from dashboard.drawing import states
from dashboard.drawing.figures import Chart
from dashboard.key_figures import KeyFigure, key_figures
from dashboard.views import operations
from dashboard.views.state.frame import show
from dashboard.widgets import errors_shown, message_box, section
from pipelines.domain.access import Role
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.states import MOST_ROWS, Reading, StateColumn, StateRows, StateTable
from pipelines.verbs.state import QueryState, ReadState
from pipelines.words import formats

PAGE_ROWS = 500
WINDOWS = 300
AS_READ = "As read"
COUNTED = "numRowsTotal of the job's progress at that batch, or a proof's count"
APART = f"{COUNTED}. A batch that is computed several times (foreachBatch with several actions) counts its rows each time; else verify it"


def draw(savepoint: Savepoint, table: StateTable, reading: Reading) -> None:
    """Figures, charts, rows."""
    key_figures(_figures(table, reading))
    if not reading.whole:
        _more(savepoint, table, reading)
    answer: StateRows | None = None
    with errors_shown():
        answer = session.workspace().ask(QueryState(savepoint.id, **table.names, limit=1))
        _charts(savepoint, table, reading, answer)
    if answer is not None:
        _rows(savepoint, table, answer)


def reading_of(savepoint: Savepoint, table: StateTable, limit: int = MOST_ROWS) -> ReadState:
    """The reading of this table."""
    return ReadState(savepoint.id, **table.names, limit=limit)


def asked(savepoint: Savepoint, table: StateTable) -> QueryState:
    """The page of rows that the address selects."""
    sort, page = session.selected("sort"), session.selected("rows")
    return QueryState(
        savepoint.id,
        **table.names,
        sort=sort.removeprefix("-"),
        descending=sort.startswith("-"),
        filter=session.selected("filter"),
        offset=PAGE_ROWS * (int(page) if page.isdecimal() and len(page) < 10 else 0),
        limit=PAGE_ROWS,
    )


def _figures(table: StateTable, reading: Reading) -> list[KeyFigure]:
    times = states.skew(reading.partitions)
    skewed = times is not None and times >= states.SKEWED and len(reading.partitions) > 1
    empty = sum(not rows for rows in reading.partitions.values())
    apart = table.rows_apart
    return [
        KeyFigure("Rows", formats.count(reading.total), note="all of them read" if reading.whole else f"{reading.rows:,} of them read"),
        KeyFigure("Partitions", formats.count(len(reading.partitions)), note=f"{empty:,} empty" if empty else "none empty"),
        KeyFigure(
            "Skew",
            f"{times:.1f}×" if times is not None else formats.MISSING,
            note="uneven" if skewed else "fullest partition to average",
            tone="orange" if skewed else None,
            hint="Rows of the fullest partition, divided by the average: the batch waits for that partition's task",
        ),
        KeyFigure(
            "In the savepoint",
            formats.size(table.bytes),
            note=_each(table.bytes, reading.total),
            hint="Size of the store's files in the savepoint",
        ),
        KeyFigure(
            "Operator's rows",
            formats.count(table.operator_rows),
            note=f"{abs(apart):,} {'fewer' if apart > 0 else 'more'} than there are" if apart else "as the job counted them",
            tone="orange" if apart else None,
            hint=APART if apart else COUNTED,
        ),
        KeyFigure(
            "Read",
            formats.ago(reading.read_ms, session.now_ms()),
            note=f"in {formats.duration(reading.took_ms)}, Spark {reading.spark_version}",
            hint=f"{formats.exact(reading.read_ms, session.zone())}; kept as Parquet, {formats.size(reading.bytes)}",
        ),
    ]


def _each(size: int, rows: int) -> str:
    return f"{formats.size(size / rows)} a row" if rows else "no rows"


def _more(savepoint: Savepoint, table: StateTable, reading: Reading) -> None:
    """The button that reads the rest; that takes disk, so it is not done unasked."""
    message_box(
        f"{reading.rows:,} of {reading.total:,} rows were read",
        "The table shows these rows alone; the figures above are of all rows.",
        tone="blue",
    )
    if permitted.button(f"Read all {reading.total:,} rows", Role.OPERATOR, key="read_all"):
        with errors_shown():
            operations.begin(reading_of(savepoint, table, reading.total))
            st.rerun()


def _charts(savepoint: Savepoint, table: StateTable, reading: Reading, answer: StateRows) -> None:
    window = _window(answer)
    cells = st.columns(2, gap="small") if window else [st.container()]
    with cells[0]:
        panel(states.by_partition(reading.partitions), key="state_partitions")
    if window:
        with cells[1], errors_shown():
            panel(_by_window(savepoint, table, window), key="state_windows")


def _window(answer: StateRows) -> StateColumn | None:
    """The column of the key that says when its window starts."""
    return next(
        (
            column
            for column in answer.columns
            if column.kind == "time" and column.name.startswith("key.") and column.name.endswith(".start")
        ),
        None,
    )


def _by_window(savepoint: Savepoint, table: StateTable, column: StateColumn) -> Chart:
    path = ".".join('"' + part.replace('"', '""') + '"' for part in column.name.split("."))
    sql = f"SELECT {path} AS started, count(*) AS rows FROM state WHERE {path} IS NOT NULL GROUP BY ALL ORDER BY started DESC"
    answer = session.workspace().ask(QueryState(savepoint.id, **table.names, sql=sql, limit=WINDOWS))
    starts, rows = [row[0] for row in answer.rows], [row[1] for row in answer.rows]
    return states.by_window(starts, rows, column.name.removeprefix("key."), more=answer.more)


def _rows(savepoint: Savepoint, table: StateTable, known: StateRows) -> None:
    _controls([column.name for column in known.columns], table)
    with errors_shown():
        question = asked(savepoint, table)
        answer = session.workspace().ask(question)
        if not answer.rows:
            st.caption("No row fits. Clear the filter to see all of them." if question.filter else "The table is empty.")
            return
        show(answer, key="state_rows", label="Rows of the state")
        _pages(question, answer)


def _controls(columns: list[str], table: StateTable) -> None:
    sorted_by, text = session.selected("sort"), session.selected("filter")
    with st.container(horizontal=True, vertical_alignment="center", key="state_controls"):
        section("Rows")
        filtered = st.text_input(
            "Filter", text, key=f"state_filter_{table.title}", placeholder="Filter by any value", icon=":material/search:",
            label_visibility="collapsed", live=True, width=280,
        )  # fmt: skip
        choices, current = [AS_READ, *columns], sorted_by.removeprefix("-")
        sort = st.selectbox(
            "Sort", choices, index=choices.index(current) if current in choices else 0, key=f"state_sort_{table.title}",
            label_visibility="collapsed", width=220, format_func=lambda name: name if name == AS_READ else f"by {name}",
        )  # fmt: skip
        down = st.toggle("Greatest first", sorted_by.startswith("-"), key=f"state_down_{table.title}", disabled=sort == AS_READ)
    order = "" if sort == AS_READ else f"{'-' if down else ''}{sort}"
    if (order, filtered or "") != (sorted_by, text):
        session.select(rows="")
    session.select(sort=order, filter=filtered or "")


def _pages(question: QueryState, answer: StateRows) -> None:
    """The numbers of the rows shown, and the way to the pages before and after."""
    first, last = question.offset + 1, question.offset + len(answer.rows)
    with st.container(horizontal=True, vertical_alignment="center", key="state_pages"):
        st.caption(f"Rows {first:,} to {last:,} of {formats.count(answer.matches)}", width="content")
        if not question.offset and not answer.more:
            return
        page = question.offset // PAGE_ROWS
        if st.button("", icon=":material/chevron_left:", key="state_before", disabled=page == 0, help="Previous rows"):
            session.select(rows=str(page - 1) if page > 1 else "")
            st.rerun()
        if st.button("", icon=":material/chevron_right:", key="state_behind", disabled=not answer.more, help="Next rows"):
            session.select(rows=str(page + 1))
            st.rerun()
