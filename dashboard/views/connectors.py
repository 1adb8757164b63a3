"""What a job's code needs besides Spark: the connectors of the systems that it names, on the runtime that it has or is to have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import streamlit as st

from dashboard import session
from pipelines.domain.connectors import DELTA, ICEBERG, KAFKA, S3, Connector
from pipelines.domain.errors import Invalid, Unavailable
from pipelines.domain.runtimes import Runtime
from pipelines.verbs.connectors import ShowConnectors
from pipelines.verbs.system import ShowAbout
from pipelines.words.connectors import need

_USES = r"""\bformat\s*(?:\(\s*(?:source\s*=\s*)?|=\s*)["']{name}["']|\bUSING\s+{name}\b"""
USES = {
    system: re.compile(_USES.format(name=name), re.IGNORECASE)
    for system, name in ((KAFKA, "kafka"), (DELTA, "delta"), (ICEBERG, "iceberg"))
} | {S3: re.compile(r"\bs3a://", re.IGNORECASE)}
"""System -> what code says that uses it."""
_Runtime = tuple[str, str, Sequence[Connector]]
"""Its interpreter, its Spark's version, and its connectors."""


def draw(code: str, runtime: Runtime, conf: Mapping[str, str]) -> None:
    """A line for each system that `code` uses, on `runtime` with the job's `conf`."""
    systems = [system for system, pattern in USES.items() if pattern.search(code)]
    if not systems:
        return
    known = [(listed.python, listed.spark_version, listed.connectors) for listed in session.workspace().ask(ShowAbout()).runtimes]
    named = [listed for listed in known if listed[0] == runtime.python] or (known if runtime.python else known[:1])
    here = _asked(runtime, conf) or named
    for system in systems:
        for line in dict.fromkeys(_lines(system, here, known)):
            st.caption(line)


def _asked(runtime: Runtime, conf: Mapping[str, str]) -> Sequence[_Runtime]:
    """The runtime with what its Spark loads; none where the reader may not ask, or no job runs on it, as its start will say."""
    if session.refusal(ShowConnectors.role):
        return ()
    try:
        with st.spinner("Looking at the connectors …", show_time=True):
            asked = session.workspace().ask(ShowConnectors(runtime.python, runtime.java_home, conf))
    except (Invalid, Unavailable):
        return ()
    return [(asked.python, asked.spark_version, asked.connectors)]


def _lines(system: str, here: Sequence[_Runtime], known: Sequence[_Runtime]) -> Iterator[str]:
    """What the runtime needs for the system, and which of the `known` ones (the server's own first) can have it where this one cannot.
    A runtime that is not known yet may be of any of their Sparks."""
    for _, spark_version, connector in _of_system(system, here):
        yield f"{system} on Spark {spark_version} {need(connector)}"
    if not any(connector.fits for *_, connector in _of_system(system, here)):
        yield from (
            f"{system}: the runtime `{python}` (Spark {spark_version}) can have it."
            for python, spark_version, connector in _of_system(system, known)
            if connector.fits
        )


def _of_system(system: str, runtimes: Sequence[_Runtime]) -> Iterator[tuple[str, str, Connector]]:
    return ((python, spark, each) for python, spark, connectors in runtimes for each in connectors if each.system == system)
