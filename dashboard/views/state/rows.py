"""The rows of one table of state: key figures, where they lie, and the rows themselves."""

from __future__ import annotations

import streamlit as st

from dashboard import formats, session
from dashboard.components.panel import panel
from dashboard.drawing import states
from dashboard.drawing.figures import Chart
from dashboard.views import operations
from dashboard.views.state.frame import show
from dashboard.widgets import KeyFigure, errors_shown, key_figures, message_box, section
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.states import Reading, StateColumn, StateQuery, StateRequest, StateRows, StateTable

PAGE_ROWS = 500
WINDOWS = 300
AS_READ = "As read"


def draw(savepoint: Savepoint, table: StateTable, reading: Reading) -> None:
    """Figures, charts, rows."""
    key_figures(_figures(table, reading))
    if not reading.whole:
        _more(savepoint, table, reading)
    found: StateRows | None = None
    with errors_shown():
        found = session.workspace().query_state(savepoint.id, StateQuery(table.query, table.operator, table.store, table.variable, limit=1))
        _charts(savepoint, table, reading, found)
    if found is not None:
        _rows(savepoint, table, found)


def asked(table: StateTable) -> StateQuery:
    """The page of rows that the address selects."""
    sort, page = session.selected("sort"), session.selected("rows")
    return StateQuery(
        table.query,
        table.operator,
        table.store,
        table.variable,
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
    counted = formats.count(table.operator_rows)
    return [
        KeyFigure("Rows", formats.count(reading.total), note="all of them read" if reading.whole else f"{reading.rows:,} of them read"),
        KeyFigure("Partitions", formats.count(len(reading.partitions)), note=f"{empty:,} empty" if empty else "none empty"),
        KeyFigure(
            "Skew",
            f"{times:.1f}×" if times is not None else formats.MISSING,
            note="uneven" if skewed else "the fullest to the average",
            tone="orange" if skewed else None,
            hint="Rows of the fullest partition, in times of the average: one task waits for all of them",
        ),
        KeyFigure(
            "In the savepoint", formats.size(table.bytes), note=_each(table.bytes, reading.total), hint="What the store's files take there"
        ),
        KeyFigure(
            "Operator's rows",
            counted,
            note="as the job counted them",
            hint="numRowsTotal of the job's progress at that batch, or a proof's count",
        ),
        KeyFigure(
            "Read",
            formats.ago(reading.read_ms, session.now_ms()),
            note=f"in {formats.duration(reading.took_ms)}, Spark {reading.spark_version}",
            hint=f"{formats.exact(reading.read_ms)}; kept as Parquet, {formats.size(reading.bytes)}",
        ),
    ]


def _each(size: int, rows: int) -> str:
    return f"{formats.size(size / rows)} a row" if rows else "no rows"


def _more(savepoint: Savepoint, table: StateTable, reading: Reading) -> None:
    """The rest can be read, too: that takes disk, so somebody has to ask for it."""
    message_box(
        f"{reading.rows:,} of {reading.total:,} rows were read",
        "What stands below is of these rows alone; the figures above are of all.",
        tone="blue",
    )
    if st.button(f"Read all {reading.total:,} rows", key="read_all"):
        wanted = StateRequest(table.query, table.operator, table.store, table.variable, reading.total)
        with errors_shown():
            operations.begin(session.workspace().read_state(savepoint.id, wanted))
            st.rerun()


def _charts(savepoint: Savepoint, table: StateTable, reading: Reading, found: StateRows) -> None:
    window = _window(found)
    cells = st.columns(2, gap="small") if window else [st.container()]
    with cells[0]:
        panel(states.by_partition(reading.partitions), key="state_partitions")
    if window:
        with cells[1], errors_shown():
            panel(_by_window(savepoint, table, window), key="state_windows")


def _window(found: StateRows) -> StateColumn | None:
    """The column of the key that says when its window starts."""
    return next((one for one in found.columns if one.kind == "time" and one.name.startswith("key.") and one.name.endswith(".start")), None)


def _by_window(savepoint: Savepoint, table: StateTable, column: StateColumn) -> Chart:
    path = ".".join('"' + part.replace('"', '""') + '"' for part in column.name.split("."))
    sql = f"SELECT {path} AS started, count(*) AS rows FROM state WHERE {path} IS NOT NULL GROUP BY ALL ORDER BY started DESC"
    wanted = StateQuery(table.query, table.operator, table.store, table.variable, sql=sql, limit=WINDOWS)
    found = session.workspace().query_state(savepoint.id, wanted)
    starts, rows = [row[0] for row in found.rows], [row[1] for row in found.rows]
    return states.by_window(starts, rows, column.name.removeprefix("key."), more=found.more)


def _rows(savepoint: Savepoint, table: StateTable, known: StateRows) -> None:
    _controls([one.name for one in known.columns], table)
    with errors_shown():
        wanted = asked(table)
        found = session.workspace().query_state(savepoint.id, wanted)
        if not found.rows:
            st.caption("No row is like this. Clear the filter to see all of them." if wanted.filter else "The table is empty.")
            return
        show(found, key="state_rows", label="Rows of the state")
        _pages(wanted, found)


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
    wanted = "" if sort == AS_READ else f"{'-' if down else ''}{sort}"
    if (wanted, filtered or "") != (sorted_by, text):
        session.select(rows="")
    session.select(sort=wanted, filter=filtered or "")


def _pages(wanted: StateQuery, found: StateRows) -> None:
    """Which rows stand there, and the way to those before and behind."""
    first, last = wanted.offset + 1, wanted.offset + len(found.rows)
    with st.container(horizontal=True, vertical_alignment="center", key="state_pages"):
        st.caption(f"Rows {first:,} to {last:,} of {formats.count(found.matches)}", width="content")
        if not wanted.offset and not found.more:
            return
        page = wanted.offset // PAGE_ROWS
        if st.button("", icon=":material/chevron_left:", key="state_before", disabled=page == 0, help="The rows before"):
            session.select(rows=str(page - 1) if page > 1 else "")
            st.rerun()
        if st.button("", icon=":material/chevron_right:", key="state_behind", disabled=not found.more, help="The rows behind"):
            session.select(rows=str(page + 1))
            st.rerun()
