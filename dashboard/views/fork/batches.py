"""Whose batches a variant has: its own, or those of its parent, on and on or up to an end."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import streamlit as st

from dashboard import session
from dashboard.views.fork.drafts import Batches, Variant
from pipelines.domain.savepoints import Manifest, Savepoint
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.words import savepoints as words

BATCHES = {
    Batches.OWN: "Its own",
    Batches.PARENTS: "In lock-step",
    Batches.UNTIL_NOW: "What if, until now",
    Batches.UNTIL_SAVEPOINT: "What if, until a savepoint",
    Batches.UNTIL_TIME: "What if, until a time",
}
"""Whose offsets its batches have."""
STEP_S = 60


def inputs(key: str, variant: Variant, manifest: Manifest) -> Variant:
    """The variant with whose offsets its batches have, and with where they end."""
    picked = st.segmented_control(
        "Batches",
        list(BATCHES),
        default=variant.batches,
        required=True,
        format_func=BATCHES.__getitem__,
        key=f"fork_batches_{key}",
        help=f"In lock-step: each batch reads what {manifest.job}'s batch of the same number reads, so that each difference is the code's. "
        f"What if: it does so at full speed, up to where {manifest.job} stands now, stood when another savepoint of it was taken, or stood "
        "at a time, and ends.",
    )
    variant = replace(variant, batches=picked or Batches.OWN)
    if variant.batches is Batches.UNTIL_SAVEPOINT:
        return replace(variant, end=_savepoint(key, variant, manifest))
    return replace(variant, end_ms=_time(key, variant)) if variant.batches is Batches.UNTIL_TIME else variant


def _savepoint(key: str, variant: Variant, manifest: Manifest) -> str:
    """One of the savepoints of the parent that are at a later batch than this one."""
    taken = session.workspace().ask(ListSavepoints(manifest.job))
    later = {str(savepoint.id): words.choice(savepoint, session.now_ms()) for savepoint in taken if _is_later(savepoint, manifest)}
    chosen = st.selectbox(
        "Until savepoint",
        list(later),
        index=list(later).index(variant.end) if variant.end in later else None,
        format_func=later.__getitem__,
        key=f"fork_end_{key}",
        placeholder="Choose a savepoint" if later else f"No savepoint of {manifest.job} is later than this one",
    )
    return chosen or ""


def _is_later(savepoint: Savepoint, manifest: Manifest) -> bool:
    began = {image.query: image.batch for image in manifest.queries}
    return any(image.batch > began.get(image.query, image.batch) for image in savepoint.queries)


def _time(key: str, variant: Variant) -> int | None:
    """A time in the zone of the pages, as epoch ms."""
    zone = session.zone()
    before = datetime.fromtimestamp(variant.end_ms / 1_000, zone).replace(tzinfo=None) if variant.end_ms is not None else None
    typed = st.datetime_input(f"Until ({zone})", before, key=f"fork_end_time_{key}", step=STEP_S, format="YYYY-MM-DD")
    return round(typed.replace(tzinfo=zone).timestamp() * 1_000) if typed is not None else None
