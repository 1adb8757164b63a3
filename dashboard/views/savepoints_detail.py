"""One savepoint in full: what it holds, where it stands in its sources, what can be done with it."""

from __future__ import annotations

from html import escape

import pandas as pd
import streamlit as st

from dashboard import formats, navigation, session
from dashboard.components.code_editor import code_editor
from dashboard.equivalents import Equivalent
from dashboard.views import savepoints_actions
from dashboard.views.commands import commands, said
from dashboard.views.savepoints_reading import by_kind, offset_words
from dashboard.views.savepoints_table import REASONS, TRUSTS, trust_of
from dashboard.widgets import chip, errors_shown, facts, when
from pipelines.domain.savepoints import Manifest, QueryImage, Savepoint

WAYS = {"link": "hard-linked", "reflink": "reflinked", "copy": "copied", "written": "written anew"}
"""Way of cloning a file -> what was done to it."""


def detail(savepoint: Savepoint, *, key: str) -> None:
    """A card with the savepoint's actions, facts and contents; `key` tells several on one page apart."""
    with st.container(border=True, key=f"card_{key}"):
        head(savepoint, key=key)
        savepoints_actions.outcome(savepoint)
        facts(_facts(savepoint, session.now_ms()))
        st.code(savepoint.path, language=None, wrap_lines=True)
        with errors_shown():
            _contents(savepoint, session.workspace().manifest(savepoint.id), key)


def head(savepoint: Savepoint, *, key: str, tree_link: bool = True) -> None:
    """Its name and badges at the left, what can be done with it at the right."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"savepoint_head_{key}"):
        badge = trust_of(savepoint)
        says, tone = TRUSTS[badge]
        label = f'<span class="tm-caption">{escape(savepoint.label)}</span>' if savepoint.label else ""
        chips = chip(badge, tone, dot=True, hint=says) + chip(REASONS[savepoint.reason])
        name = f'<span class="tm-mono" style="font-size:15px;font-weight:600" data-testid="savepoint-id">{savepoint.id}</span>'
        st.html(f'<div class="tm-head">{name}{chips}{label}</div>', width="stretch")
        _actions(savepoint, key, tree_link)


def _actions(savepoint: Savepoint, key: str, tree_link: bool) -> None:
    commands(_commands(savepoint), key=f"commands_{key}")
    if tree_link and st.button("In the tree", icon=":material/account_tree:", key=f"tree_{key}"):
        navigation.go("versions", savepoint=savepoint.id)
    level = st.menu_button(
        "Verify", list(savepoints_actions.LEVELS), format_func=savepoints_actions.LEVELS.__getitem__, key=f"verify_{key}"
    )
    if level:
        savepoints_actions.verify([savepoint], level)
        st.rerun()
    if st.button("Dispose…", icon=":material/delete:", key=f"dispose_{key}"):
        savepoints_actions.ask_dispose([savepoint])
    refused = savepoints_actions.why_not_resumed(savepoint)
    if st.button("Resume from here", icon=":material/history:", key=f"resume_{key}", disabled=bool(refused), help=refused or None):
        savepoints_actions.ask_resume(savepoint)
    damaged = "It is damaged and would not be restored." if savepoint.damaged_files else None
    if st.button("Fork", type="primary", icon=":material/call_split:", key=f"fork_{key}", disabled=bool(damaged), help=damaged):
        navigation.go("fork", savepoint=savepoint.id)


def _commands(one: Savepoint) -> list[Equivalent]:
    at, fork = f"/savepoints/{one.id}", f"{one.job}_fork"
    return [
        said("Fork", ["fork", one.id, "--name", fork], "POST", f"{at}/fork", {"name": fork}),
        said("Resume from here", ["resume", one.job, "--from", one.id], "POST", f"/jobs/{one.job}/resume", {"from_savepoint": one.id}),
        said("Verify", ["verify", one.id, "--level", "intact"], "POST", f"{at}/verify", {"level": "intact"}),
        said("Dispose", ["dispose", one.id], "DELETE", at),
    ]


def _facts(one: Savepoint, now_ms: float) -> list[tuple[str, str]]:
    first = one.queries[0]
    job = f'<a href="{navigation.href("job", job=one.job)}" target="_self">{escape(one.job)}</a>'
    checked = when(one.verified_ms, now_ms) if one.verified_ms else "when it was taken"
    return [
        ("Job", job),
        ("Version", f'<span class="tm-mono">{one.version}</span>'),
        ("Batch", f"{one.batch:,} · committed {when(first.batch_timestamp_ms, now_ms)}"),
        ("Watermark", _watermark(first.watermark_ms)),
        ("Taken", f"{when(one.created_ms, now_ms)} in {formats.duration(one.took_ms)}"),
        ("Size", f"{formats.size(one.bytes)} in {formats.plural(one.files, 'file')}"),
        ("New bytes", f"{formats.size(one.new_bytes)} ({_share(one.new_bytes, one.bytes)})"),
        ("Checked", checked),
        ("Spark", escape(one.spark_version)),
        ("Run", f'<span class="tm-mono">{one.run or formats.MISSING}</span>'),
    ]


def _watermark(at_ms: int) -> str:
    if not at_ms:
        return "no event time"
    zone = session.zone()
    return f'<time title="{formats.exact(at_ms)}">{formats.exact(at_ms, zone)}</time>'


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else formats.MISSING


def _contents(savepoint: Savepoint, manifest: Manifest, key: str) -> None:
    offsets, state, files, conf, code = st.tabs(["Offsets", "State", "Files", "Configuration", "Code"], key=f"contents_{key}")
    with offsets:
        st.dataframe(offsets_frame(savepoint.queries), hide_index=True, alt="Where each source stands")
    with state:
        _state(savepoint.queries)
    with files:
        st.dataframe(files_frame(manifest), hide_index=True, column_config={"Bytes": _bar(manifest)}, alt="Files by kind")
        st.caption(f"How they came here: {', '.join(f'{count:,} {WAYS.get(way, way)}' for way, count in manifest.how.items())}.")
    with conf:
        _configuration(manifest)
    with code:
        st.caption(f"{manifest.version.script} as version {manifest.version.id} froze it.")
        code_editor(manifest.version.code, key=f"code_{key}_{savepoint.id}", readonly=True, height=360, label="The savepoint's code")


def offsets_frame(queries: tuple[QueryImage, ...]) -> pd.DataFrame:
    """One row for each source of each query."""
    rows = [(q.query, q.batch, one.source, offset_words(one.offset), one.offset) for q in queries for one in q.offsets]
    return pd.DataFrame(rows, columns=["Query", "Batch", "Source", "Stands at", "Spark's offset"])


def _state(queries: tuple[QueryImage, ...]) -> None:
    rows = [
        (q.query, operator.name, operator.id, operator.partitions, ", ".join(operator.stores), q.provider, q.state_format)
        for q in queries
        for operator in q.operators
    ]
    if not rows:
        st.caption("No query of this job keeps state.")
        return
    titles = ["Query", "Operator", "Id", "Partitions", "Stores", "Provider", "Format"]
    st.dataframe(pd.DataFrame(rows, columns=titles), hide_index=True, alt="Stateful operators")


def files_frame(manifest: Manifest) -> pd.DataFrame:
    """One row for each kind of file."""
    kinds = by_kind(manifest.files)
    rows = [(kind.title, kind.files, kind.bytes, kind.purpose) for kind in kinds]
    return pd.DataFrame(rows, columns=["Kind", "Files", "Bytes", "What for"])


def _bar(manifest: Manifest) -> object:
    most = max((kind.bytes for kind in by_kind(manifest.files)), default=1)
    return st.column_config.ProgressColumn("Bytes", format="bytes", min_value=0, max_value=max(most, 1))


def _configuration(manifest: Manifest) -> None:
    pinned = [(q.query, name, value) for q in manifest.queries for name, value in q.conf.items()]
    st.caption("Pinned by the checkpoint: Spark takes these from the savepoint, whatever a new session says.")
    st.dataframe(pd.DataFrame(pinned, columns=["Query", "Conf", "Value"]), hide_index=True, height=min(len(pinned) + 1, 9) * 35 + 2)
    version = manifest.version
    facts([("Arguments", _mono(" ".join(version.args))), ("Master", _mono(version.master))])
    if version.conf:
        st.caption("Given by the version")
        st.dataframe(pd.DataFrame(sorted(version.conf.items()), columns=["Conf", "Value"]), hide_index=True)


def _mono(text: str) -> str:
    return f'<span class="tm-mono">{escape(text) or formats.MISSING}</span>'
