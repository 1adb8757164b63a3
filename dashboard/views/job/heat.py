"""State as heat maps: for each stateful operator its partitions over time; a cell opens that state."""

from __future__ import annotations

import streamlit as st

from dashboard import navigation, session
from dashboard.components.heat import heat
from dashboard.drawing.heat import Measure, heat_map
from dashboard.widgets import errors_shown, section
from pipelines.domain.state_sizes import OperatorSizes
from pipelines.verbs.state import ShowStateSizes

AGE_MS = 30_000
"""A listing of the checkpoint's state may be so old."""
MEASURES = {Measure.BYTES: "Size", Measure.ROWS: "Rows", Measure.WRITTEN: "Written"}
SAYS = {
    Measure.BYTES: "bytes of the state files in each savepoint, by partition",
    Measure.ROWS: "rows in each savepoint whose state was read, by partition",
    Measure.WRITTEN: "bytes written by each batch that Spark still keeps, by partition",
}
ROWS_OF_PARTITION = "SELECT * FROM state\nWHERE partition_id = {}"


def draw(name: str) -> None:
    """The maps of all operators in one measure; nothing for a job without state."""
    with errors_shown():
        sizes = session.shared(ShowStateSizes(name), age_ms=AGE_MS)
        if sizes:
            measure = _bar()
            for operator in sizes:
                _operator(name, operator, measure, several=len({other.query for other in sizes}) > 1)


def _bar() -> Measure:
    """The choice of the measure, which stands in the address."""
    measure = Measure(st.session_state.get("heat_measure") or _selected())
    with st.container(horizontal=True, vertical_alignment="center", key="heat_bar"):
        section("Partitions", SAYS[measure])
        st.segmented_control(
            "Measure", list(MEASURES), default=_selected(), required=True, format_func=MEASURES.__getitem__, key="heat_measure",
            label_visibility="collapsed",
        )  # fmt: skip
    session.select(measure="" if measure is Measure.WRITTEN else measure)
    return measure


def _selected() -> Measure:
    named = session.selected("measure")
    return Measure(named) if named in list(Measure) else Measure.WRITTEN


def _operator(name: str, operator: OperatorSizes, measure: Measure, *, several: bool) -> None:
    with st.container(border=True, key=f"heat_{operator.query}_{operator.operator}"):
        if several:
            st.caption(operator.query)
        cell = heat(heat_map(operator, measure), session.zone(), key=f"heat_{name}_{operator.query}_{operator.operator}")
    if cell:
        _open(name, operator, *cell)


def _open(name: str, operator: OperatorSizes, column: str, partition: int) -> None:
    """A savepoint's cell opens the rows of that partition; a batch's opens the batch, of which a savepoint can be taken."""
    if not column.startswith("sp-"):
        navigation.go("job", job=name, tab="Batches", batch=column)
    navigation.go(
        "state",
        savepoint=column,
        query=operator.query,
        operator=str(operator.operator),
        sql=ROWS_OF_PARTITION.format(partition),
    )
