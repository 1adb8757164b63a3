"""What a job's code needs besides Spark: the connectors of the systems that it names, on the runtime that it has or is to have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import streamlit as st

from dashboard import session
from pipelines.domain.about import Runtime
from pipelines.domain.connectors import DELTA, ICEBERG, KAFKA, Connector
from pipelines.verbs.system import ShowAbout
from pipelines.words.connectors import need

USES = {
    KAFKA: re.compile(r"""format\(\s*["']kafka["']"""),
    DELTA: re.compile(r"""format\(\s*["']delta["']|USING\s+delta""", re.IGNORECASE),
    ICEBERG: re.compile(r"""format\(\s*["']iceberg["']|USING\s+iceberg""", re.IGNORECASE),
}
"""System -> what code says that uses it."""


def draw(code: str, python: str) -> None:
    """A line for each system that `code` uses; `python` is the runtime, empty for the server's own."""
    systems = [system for system, pattern in USES.items() if pattern.search(code)]
    known = session.workspace().ask(ShowAbout()).runtimes if systems else ()
    for system in systems:
        for line in dict.fromkeys(lines(system, python, known)):
            st.caption(line)


def lines(system: str, python: str, known: Sequence[Runtime]) -> Iterator[str]:
    """What the runtime needs for the system, and which of the `known` ones (the server's own first) can have it where this one cannot.
    A runtime that is not known yet may be of any of their Sparks."""
    named = [runtime for runtime in known if runtime.python == python] or (known if python else known[:1])
    for runtime, connector in _of_system(system, named):
        yield f"{system} on Spark {runtime.spark_version} {need(connector)}"
    if not any(connector.fits for _, connector in _of_system(system, named)):
        yield from (
            f"{system}: the runtime `{runtime.python}` (Spark {runtime.spark_version}) can have it."
            for runtime, connector in _of_system(system, known)
            if connector.fits
        )


def _of_system(system: str, runtimes: Sequence[Runtime]) -> Iterator[tuple[Runtime, Connector]]:
    return ((runtime, connector) for runtime in runtimes for connector in runtime.connectors if connector.system == system)
