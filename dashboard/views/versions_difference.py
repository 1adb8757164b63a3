"""Two savepoints and what differs between them: code, arguments, confs, where their sources stand."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import streamlit as st

from dashboard import formats, session
from dashboard.components.code_editor import code_editor
from dashboard.views.fork.drafts import difference
from dashboard.views.savepoints_reading import offset_words
from dashboard.widgets import chip
from pipelines.domain.savepoints import Manifest, Savepoint


def draw(first: Savepoint, second: Savepoint) -> None:
    """A card with the older one at the left, the newer one at the right."""
    old, new = sorted((first, second), key=lambda one: (one.queries[0].batch_timestamp_ms, one.created_ms))
    before, after = session.workspace().manifest(old.id), session.workspace().manifest(new.id)
    with st.container(border=True, key="card_difference"):
        _head(old, new, before, after)
        code, settings, offsets = st.tabs(["Code", "Arguments and confs", "Offsets"], key="difference_tabs")
        with code:
            _code(before, after)
        with settings:
            st.html(pairs_table(_settings(before), _settings(after), old.id, new.id))
        with offsets:
            st.html(pairs_table(_offsets(old), _offsets(new), old.id, new.id))


def _head(old: Savepoint, new: Savepoint, before: Manifest, after: Manifest) -> None:
    added, removed = difference(before.version.code, after.version.code)
    lines = chip(f"+{added}", "green", mono=True) + chip(f"−{removed}", "red", mono=True) if added or removed else chip("same code")
    apart = new.queries[0].batch_timestamp_ms - old.queries[0].batch_timestamp_ms
    batches = f", {formats.plural(new.batch - old.batch, 'batch', 'batches')}" if new.job == old.job else ""
    arrow = f"{chip(old.id, mono=True)}<span>→</span>{chip(new.id, mono=True)}"
    note = f'<span class="tm-caption">{formats.duration(apart)} apart{batches}</span>'
    st.html(f'<div class="tm-head"><h2 class="tm-h2">Difference</h2>{arrow}{lines}{note}</div>')


def _code(before: Manifest, after: Manifest) -> None:
    if before.version.code == after.version.code:
        st.caption(f"Both were taken with the same code, {after.version.script}.")
        return
    if before.version.script != after.version.script:
        st.caption(f"{before.version.script} → {after.version.script}")
    code_editor(
        after.version.code,
        key=f"difference_{before.id}_{after.id}",
        original=before.version.code,
        mode="split",
        readonly=True,
        collapse=True,
        height=420,
        label="The code of both savepoints",
    )


def _settings(manifest: Manifest) -> dict[str, str]:
    """Everything besides the code that decides what runs."""
    version = manifest.version
    args = {f"argument {place}": arg for place, arg in enumerate(version.args, 1)}
    pinned = {name: value for query in manifest.queries for name, value in query.conf.items()}
    return {**args, "master": version.master, **dict(version.conf), **{f"{name} (pinned)": value for name, value in sorted(pinned.items())}}


def _offsets(savepoint: Savepoint) -> dict[str, str]:
    found: dict[str, str] = {}
    for query in savepoint.queries:
        found[f"{query.query} · batch"] = f"{query.batch:,}"
        found[f"{query.query} · watermark"] = formats.exact(query.watermark_ms or None, session.zone())
        found |= {f"{query.query} · source {one.source}": offset_words(one.offset) for one in query.offsets}
    return found


def pairs_table(before: Mapping[str, str], after: Mapping[str, str], old: str, new: str) -> str:
    """Names with both values as HTML; what differs stands first and is marked."""
    names = [*before, *(name for name in after if name not in before)]
    names.sort(key=lambda name: before.get(name) == after.get(name))
    rows = "".join(_row(name, before.get(name), after.get(name)) for name in names)
    heads = "".join(f"<th>{escape(head)}</th>" for head in ("", old, new))
    return f'<table class="tm-both"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def _row(name: str, before: str | None, after: str | None) -> str:
    kind = "" if before == after else ' class="differs"'
    cells = "".join(f"<td>{escape(value) if value is not None else formats.MISSING}</td>" for value in (before, after))
    return f"<tr{kind}><th>{escape(name)}</th>{cells}</tr>"
