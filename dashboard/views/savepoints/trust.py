"""The trust in one savepoint: levels with their times, the counts of the proof, the damage with its diagnosis and a replacement."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import pandas as pd
import streamlit as st

from dashboard import navigation, permitted, session, trust
from dashboard.components import frames
from dashboard.views import changes, diagnosis
from dashboard.views.savepoints import actions
from dashboard.widgets import errors_shown, facts, message_box, section, when
from pipelines.domain import unrepeatable_sources
from pipelines.domain.access import Role
from pipelines.domain.errors import Corrupt, NotFound, Unavailable
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Proof, StateCount, Trust, Verification
from pipelines.verbs.jobs import ListRetained
from pipelines.verbs.savepoints import ListSavepoints, ReadVerification
from pipelines.verbs.take import Take
from pipelines.words import formats
from pipelines.words import trust as words
from pipelines.words.savepoints import points

AT_ONCE_BYTES = 500_000_000
"""A damaged savepoint up to this size is examined for whoever may, without being asked."""


def alarm(savepoint: Savepoint, *, key: str) -> None:
    """The damage of a savepoint, its diagnosis and a replacement; nothing for a sound one."""
    if not savepoint.damaged_files:
        return
    verification = session.workspace().ask(ReadVerification(savepoint.id))
    hint = f"Found {formats.ago(savepoint.verified_ms, session.now_ms())}. Tidemark restores nothing from a damaged savepoint."
    message_box(words.damage(savepoint.id, savepoint.damaged_files), hint, tag=words.DAMAGED)
    asked = not session.refusal(Role.OPERATOR) and (savepoint.bytes <= AT_ONCE_BYTES or diagnosis.examined(savepoint.id))
    if not asked:
        asked = permitted.button("Examine savepoint", Role.OPERATOR, icon=":material/stethoscope:", key=f"examine_{key}")
    every = diagnosis.examine(savepoint.id, savepoint.verified_ms) if asked else None
    if every:
        diagnosis.draw(every)
    elif verification and verification.damages:
        _damages(verification, key)
    _instead(savepoint, key)


def _damages(verification: Verification, key: str) -> None:
    rows = [(damage.path, words.DAMAGES.get(damage.kind, damage.kind), damage.message) for damage in verification.damages]
    frames.shown(pd.DataFrame(rows, columns=["File", "Damage", "What"]), name="damaged_files", key=f"damages_{key}", alt="Damaged files")


def _instead(savepoint: Savepoint, key: str) -> None:
    """Replacements: the same batch taken again where Spark still keeps it, the nearest sound savepoint of the job."""
    with st.container(horizontal=True, key=f"instead_{key}"):
        if _still_kept(savepoint) and permitted.button(
            f"Take a savepoint of batch {savepoint.batch:,} again",
            Role.OPERATOR,
            type="primary",
            icon=":material/bookmark_add:",
            key=f"again_{key}",
        ):
            with errors_shown():
                taken = changes.take(Take(savepoint.job, batch=savepoint.batch, label=savepoint.label))
                if taken is None:
                    navigation.go("job", job=savepoint.job)
                session.select(savepoint=taken.id)
                st.rerun()
        nearest = nearest_sound(savepoint, session.workspace().ask(ListSavepoints(savepoint.job)))
        if nearest:
            label = f"Open {formats.short_id(nearest.id)}, {points(nearest)}"
            if st.button(
                label, icon=":material/bookmark:", key=f"nearest_{key}", help="The nearest savepoint of this job that is not damaged"
            ):
                session.select(savepoint=nearest.id)
                st.rerun()


def _still_kept(savepoint: Savepoint) -> bool:
    """Whether the job's live checkpoint still holds the batch; a job that was removed, or whose checkpoint cannot be read, has none."""
    try:
        return (
            any(retained.batch == savepoint.batch for retained in session.workspace().ask(ListRetained(savepoint.job)))
            and len(savepoint.queries) == 1
        )
    except (NotFound, Corrupt, Unavailable):
        return False


def nearest_sound(savepoint: Savepoint, every: Sequence[Savepoint]) -> Savepoint | None:
    """The undamaged one whose batch is nearest, the more trusted where two are as near."""
    sound = [other for other in every if other.id != savepoint.id and not other.damaged_files]
    return min(sound, key=lambda other: (abs(other.batch - savepoint.batch), -list(Trust).index(other.trust)), default=None)


def draw(savepoint: Savepoint) -> None:
    """The levels with their times, the newest verification, the newest proof."""
    now = session.now_ms()
    st.html(_levels(savepoint, now))
    for remark in unrepeatable_sources.remarks(savepoint.queries):
        message_box(remark, tone="orange")
    verification = session.workspace().ask(ReadVerification(savepoint.id))
    if verification is None:
        st.caption("Nobody has verified it yet. Its checksums are computed in the background soon after it was taken.")
        return
    if words.falls_short(verification, verification.asked):
        title = words.shortfall(savepoint.id, verification.reached, verification.asked)
        message_box(title, words.reason(verification), tone="orange")
    sealed = when(verification.sealed_ms, now) if verification.sealed_ms else formats.MISSING
    facts(
        [
            ("Last verified", when(verification.at_ms, now)),
            *words.answer(verification),
            ("Checksums computed", sealed),
        ]
    )
    if verification.proof:
        _proof(verification.proof)
    elif not verification.damages:
        st.caption(f"Not proved yet. {actions.PROVES}")


def _levels(savepoint: Savepoint, now_ms: float) -> str:
    reached = words.reached(savepoint)
    rows = "".join(_level(level, reached.get(level), now_ms) for level in Trust)
    return f'<table class="tm-trust">{rows}</table>'


def _level(level: Trust, at_ms: int | None, now_ms: float) -> str:
    says, tone = words.LEVELS[level], trust.TONES[level]
    mark = (
        f'<span class="tm-chip {tone}"><span class="tm-check"></span>{level}</span>'
        if at_ms
        else f'<span class="tm-chip tm-not">{level}</span>'
    )
    return f"<tr><td>{mark}</td><td>{says}</td><td>{when(at_ms, now_ms) if at_ms else 'not reached'}</td></tr>"


def _proof(proof: Proof) -> None:
    section("Proof", escape(words.proof(proof)))
    if proof.note:
        message_box("This run does not prove the savepoint", proof.note, tone="orange")
    left, right = st.columns([3, 2], gap="medium")
    with left:
        if proof.states:
            alt = "Rows of each stateful operator, read and expected"
            frames.shown(states_frame(proof.states), name="proof_states", key="proof_states", alt=alt)
        else:
            st.caption("No query of this job keeps state: there was none to read.")
    with right:
        if proof.batches:
            took = {"Took": st.column_config.NumberColumn("Took", format="%.0f ms")}
            frames.shown(
                _batches_frame(proof), name="proof_batches", key="proof_batches", column_config=took, alt="Batches that the sandbox ran"
            )
        else:
            st.caption("No batch was run.")


def states_frame(states: Sequence[StateCount]) -> pd.DataFrame:
    """One row for each operator: rows that Spark read, rows that the job said, whether they agree."""
    frame = pd.DataFrame(words.states(states), columns=list(words.STATES))
    return frame.astype({"Rows the job counted": "Int64"})


def _batches_frame(proof: Proof) -> pd.DataFrame:
    return pd.DataFrame(words.batches(proof), columns=list(words.BATCHES))
