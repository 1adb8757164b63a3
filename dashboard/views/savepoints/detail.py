"""One savepoint in full: its facts, its contents, its actions."""

from __future__ import annotations

from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import navigation, session
from dashboard.components import frames
from dashboard.components.code_editor import code_editor
from dashboard.views import code_files
from dashboard.views.savepoints import annotation, holdings, trust
from dashboard.views.savepoints.contents import by_kind
from dashboard.views.savepoints.head import head
from dashboard.widgets import errors_shown, facts, when
from pipelines.domain.savepoints import Manifest, QueryImage, Savepoint
from pipelines.verbs.savepoints import ReadManifest
from pipelines.words import formats, offsets, operators, plans
from pipelines.words import holdings as held
from pipelines.words.savepoints import FREES, FULL, NEW, ORIGIN_HINTS, ORIGINS, SHARED, SIZE_HINTS, snapshots, tables


def detail(savepoint: Savepoint, *, key: str) -> None:
    """A card with the savepoint's actions, facts and contents; `key` tells several on one page apart."""
    with st.container(border=True, key=f"card_{key}"):
        head(savepoint, key=key)
        with errors_shown():
            trust.alarm(savepoint, key=key)
        annotation.draw(savepoint, key=key)
        facts(_facts(savepoint, session.now_ms()))
        st.code(savepoint.path, language=None, wrap_lines=True)
        with errors_shown():
            _contents(savepoint, session.workspace().ask(ReadManifest(savepoint.id)), key)


def _sized(name: str, size_bytes: int | None) -> tuple[str, str]:
    return name, _hinted(name, formats.size(size_bytes) if size_bytes is not None else formats.MISSING)


def _hinted(name: str, text: str) -> str:
    """What the size means stands on its hover."""
    return f'<span title="{SIZE_HINTS[name]}" data-hint="">{text}</span>'


def _facts(savepoint: Savepoint, now_ms: float) -> list[tuple[str, str]]:
    first, begun = savepoint.queries[0], [q for q in savepoint.queries if q.begun]
    batches = f"{first.batch:,}" if len(savepoint.queries) == 1 else ", ".join(f"{q.batch:,} of {q.query}" for q in begun)
    job = f'<a href="{navigation.href("job", job=savepoint.job)}" target="_self">{escape(savepoint.job)}</a>'
    own = session.spaces().get(savepoint.id)
    frees = f"{formats.size(own.frees_bytes)} ({_share(own.frees_bytes, own.bytes)})" if own else formats.MISSING
    return [
        ("Job", job),
        ("Version", f'<span class="tm-mono">{savepoint.version}</span>'),
        ("Batch", f"{escape(batches)} · committed {when(first.batch_timestamp_ms, now_ms)}"),
        *([("Not begun", escape(", ".join(waiting)))] if (waiting := [q.query for q in savepoint.queries if not q.begun]) else []),
        ("Watermark", _watermark(first.watermark_ms)),
        ("Taken", f"{when(savepoint.created_ms, now_ms)} in {formats.duration(savepoint.took_ms)}"),
        ("Spark's files", formats.files(savepoint.files, savepoint.bytes)),
        _sized(FULL, own.bytes if own else None),
        (FREES, _hinted(FREES, frees)),
        _sized(SHARED, own.shared_bytes if own else None),
        _sized(NEW, savepoint.new_bytes),
        (held.TITLE, holdings.fact(savepoint, now_ms)),
        ("Origin", _origin(savepoint, now_ms)),
        ("Spark", escape(savepoint.spark_version)),
        *(("Delta table", escape(table)) for table in tables(savepoint.queries)),
        *(("Iceberg table", escape(table)) for table in snapshots(savepoint.queries)),
        ("Run", f'<span class="tm-mono">{savepoint.run or formats.MISSING}</span>'),
    ]


def _origin(savepoint: Savepoint, now_ms: float) -> str:
    """The reason why it was taken; of an imported one also when and from where it was imported."""
    origin = f'<span title="{ORIGIN_HINTS[savepoint.reason]}">{ORIGINS[savepoint.reason]}</span>'
    return (
        f'{origin} {when(savepoint.imported_ms, now_ms)} from <span class="tm-mono">{escape(savepoint.imported_from)}</span>'
        if savepoint.imported_ms
        else origin
    )


def _watermark(at_ms: int) -> str:
    if not at_ms:
        return "no event time"
    return formats.exact(at_ms, session.zone())


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else formats.MISSING


def _contents(savepoint: Savepoint, manifest: Manifest, key: str) -> None:
    checked, offsets, state, files, conf, code = st.tabs(
        ["Trust", "Offsets", "State", "Files", "Configuration", "Code"], key=f"contents_{key}"
    )
    with checked:
        trust.draw(savepoint)
    with offsets:
        frame = offsets_frame(savepoint.queries)
        frames.shown(frame, name=f"offsets_{savepoint.id}", key=f"offsets_{key}", alt="Where each source stands")
    with state:
        _state(savepoint, key)
    with files:
        bar = {"Bytes": _bar(manifest)}
        frames.shown(files_frame(manifest), name=f"files_{savepoint.id}", key=f"files_{key}", column_config=bar, alt="Files by kind")
        st.caption(f"How they came here: {', '.join(f'{count:,} {plans.way(way)}' for way, count in manifest.how.items())}.")
    with conf:
        _configuration(manifest, key)
    with code:
        _code(savepoint, manifest, key)


def _code(savepoint: Savepoint, manifest: Manifest, key: str) -> None:
    version = manifest.version
    if not version.code:
        st.caption("The job runs elsewhere, and its code is not known here. A fork brings its own.")
        return
    st.caption(f"{version.script} as version {version.id} froze it.")
    texts = code_files.texts(version.files)
    path = code_files.choose(version.script, texts, f"code_file_{key}_{savepoint.id}")
    shown = texts[path] if path else version.code
    code_editor(
        shown,
        key=f"code_{key}_{savepoint.id}" + f"_{path}" * bool(path),
        readonly=True,
        height=360,
        label="The savepoint's code",
        script=path or version.script,
    )


def offsets_frame(queries: tuple[QueryImage, ...]) -> pd.DataFrame:
    """One row for each source of each query."""
    rows = [(q.query, q.batch, offset.source, offsets.words(offset.offset), offset.offset) for q in queries for offset in q.offsets]
    return pd.DataFrame(rows, columns=["Query", "Batch", "Source", "Stands at", "Spark's offset"])


def _state(savepoint: Savepoint, key: str) -> None:
    rows = [
        (q.query, operators.kind(operator.name), operator.id, operator.partitions, ", ".join(operator.stores), q.provider, q.state_format)
        for q in savepoint.queries
        for operator in q.operators
    ]
    if not rows:
        st.caption("No query of this job keeps state.")
        return
    titles = ["Query", "Operator", "Id", "Partitions", "Stores", "Provider", "Format"]
    frame = pd.DataFrame(rows, columns=titles)
    frames.shown(frame, name=f"operators_{savepoint.id}", key=f"operators_{key}", alt="Stateful operators")
    navigation.link("state", "Look into the state", icon=":material/database:", savepoint=savepoint.id)


def files_frame(manifest: Manifest) -> pd.DataFrame:
    """One row for each kind of file."""
    kinds = by_kind(manifest.files)
    rows = [(kind.title, kind.files, kind.bytes, kind.purpose) for kind in kinds]
    return pd.DataFrame(rows, columns=["Kind", "Files", "Bytes", "Purpose"])


def _bar(manifest: Manifest) -> Any:
    most = max((kind.bytes for kind in by_kind(manifest.files)), default=1)
    return st.column_config.ProgressColumn("Bytes", format="bytes", min_value=0, max_value=max(most, 1))


def _configuration(manifest: Manifest, key: str) -> None:
    pinned = [(q.query, name, value) for q in manifest.queries for name, value in q.conf.items()]
    st.caption("Pinned by the checkpoint: Spark takes these from the savepoint, whatever a new session says.")
    frame = pd.DataFrame(pinned, columns=["Query", "Conf", "Value"])
    frames.shown(frame, name="pinned_confs", key=f"pinned_{key}", height=min(len(pinned) + 1, 9) * 35 + 2, alt="Pinned confs")
    version = manifest.version
    facts([("Arguments", _mono(" ".join(version.args))), ("Master", _mono(version.master))])
    if version.conf:
        st.caption("Given by the version")
        given = pd.DataFrame(sorted(version.conf.items()), columns=["Conf", "Value"])
        frames.shown(given, name="confs", key=f"given_{key}", alt="Confs of the version")


def _mono(text: str) -> str:
    return f'<span class="tm-mono">{escape(text) or formats.MISSING}</span>'
