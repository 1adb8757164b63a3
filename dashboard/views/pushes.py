"""Where the server pushes its metrics to, on the page of the settings."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import session
from dashboard.components.table import Cell, Column, Row, table
from dashboard.widgets import section
from pipelines.domain.pushes import Push
from pipelines.words import formats
from pipelines.words import pushes as words

COLUMNS = (
    *(Column("Receiver"), Column("Address", wide=True), Column("Every", "right")),
    *(Column("Newest push"), Column("Last error", wide=True)),
)
HOW = (
    "Set in the server's environment: `OTEL_EXPORTER_OTLP_ENDPOINT` for OTLP, `TIDEMARK_STATSD` (host:port) for StatsD and Datadog. "
    "Prometheus scrapes `/metrics` whatever is set."
)


def pushes(all_of: Sequence[Push]) -> None:
    """Draws the section."""
    section("Metrics", "where the figures of /metrics are pushed to")
    rows = [_row(push, session.now_ms()) for push in all_of]
    table(COLUMNS, rows, key="pushes", label="Receivers of metrics", empty="They are pushed nowhere.", clickable=False)
    st.caption(HOW)


def _row(push: Push, now_ms: float) -> Row:
    cells = (
        Cell(push.kind),
        Cell(push.address, mono=True),
        Cell(formats.duration(push.every_s * 1_000)),
        Cell(words.state(push, now_ms)),
        Cell(words.last_error(push, now_ms) or formats.MISSING),
    )
    return Row(push.kind, cells)
