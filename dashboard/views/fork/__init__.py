"""A new job from a savepoint, or several at once: the code, the form, the plan, the start."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dashboard import address, session, undo
from dashboard.views import verdicts
from dashboard.views.acceptance import Accepted
from dashboard.views.fork import drafts, editor, form, plans, start, trial
from dashboard.views.fork.drafts import Draft, Variant
from dashboard.views.gone import found
from dashboard.views.savepoints import actions
from dashboard.widgets import chip, command, draw_again, empty_state, errors_shown, message_box, page_header, when
from pipelines.domain.errors import NotFound
from pipelines.domain.resources import ALL, Resources
from pipelines.domain.savepoints import Manifest, Savepoint
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.savepoints import ListSavepoints, ReadManifest, ShowSavepoint
from pipelines.words import formats
from pipelines.words.savepoints import numbers, points

TEACHES = (
    "A fork is a new job that begins with the state of a savepoint: with the same code or with other code, in its own checkpoint "
    "and output. The job that the savepoint was taken of does not notice."
)

MOST = f"An experiment has at most {len(drafts.LETTERS)} variants."
NO_CODE = "Its code is not known here, because a checkpoint does not hold it. Load the script, or paste it, to fork it."


def page() -> None:
    """Draws the fork of the savepoint that the address names."""
    with errors_shown():
        named = session.selected("savepoint")
        if not named:
            _choose()
            return
        savepoint = found(ShowSavepoint(named), "Fork", "savepoints", "All savepoints")
        if savepoint is not None:
            _draw(savepoint, session.workspace().ask(ReadManifest(savepoint.id)))


def _choose() -> None:
    taken = session.workspace().ask(ListSavepoints())
    with page_header("Fork"):
        pass
    with empty_state("Fork which savepoint?", TEACHES, key="fork"):
        if not taken:
            command("python -m pipelines savepoint JOB", label="There is none yet. Take one on a job's page, or from a shell")
            return
        words = {savepoint.id: f"{savepoint.id} · {savepoint.job} · {points(savepoint)} {savepoint.label}" for savepoint in taken}
        chosen = st.selectbox(
            "Savepoint", list(words), index=None, format_func=words.__getitem__, placeholder="Choose a savepoint", width=460
        )
        if chosen:
            session.select(savepoint=chosen)
            st.rerun()


def _draw(savepoint: Savepoint, manifest: Manifest) -> None:
    draft = _keep(manifest, _draft(manifest).inheriting(_of_parent(manifest)))
    with page_header(f"Fork {savepoint.job}", chips=_chips(savepoint), caption=_caption(savepoint), key="fork_head"):
        slot = st.container(horizontal=True, vertical_alignment="center", width="content", key="fork_actions")
    start.see(manifest)
    with st.container(key="fork_variants"):  # always there, so that what stands below stays what it is
        draft, variant = _variants(manifest, draft)
    left, right = st.columns([2.35, 1], gap="medium")
    with left:
        if not manifest.version.code:
            message_box(f"{manifest.job} runs elsewhere", NO_CODE, tone="blue")
        key = f"{manifest.id}_{variant.letter}"
        variant = editor.code(
            manifest.version, "the savepoint", key, variant, lambda changed: _keep(manifest, _draft(manifest).changed(changed))
        )
    with right:
        drawn, draft = draft, _settled(manifest, draft, form.settings(manifest, variant, draft.with_parent))
        every = plans.outlooks(manifest, draft)
        outlook = next(outlook for outlook in every if outlook.variant.letter == variant.letter)
        plans.shown(manifest, outlook)
    with left:
        accepted = plans.state(manifest, outlook)
    if accepted != Accepted(outlook.variant.drop, outlook.variant.map):
        _keep(manifest, draft.changed(replace(outlook.variant, drop=accepted.drop, map=accepted.map)))
        st.rerun()
    damaged = actions.DAMAGED if savepoint.damaged_files else ""
    why_not = damaged or plans.refused(every, draft)
    with slot:
        verdicts.mark({outlook.variant.letter: outlook.plan for outlook in every})
        start.shell(manifest, draft)
        full = MOST if len(draft.variants) == len(drafts.LETTERS) else ""
        no_more = damaged or full
        if st.button("Add variant", icon=":material/add:", key=start.ADD, disabled=bool(no_more), help=no_more or None):
            _add(manifest, draft)
        is_tried = trial.button(manifest, outlook.variant, damaged)
        pressed = start.button(manifest, draft, why_not)
    with left:
        trial.draw(manifest)
    if pressed and not why_not:
        with left:
            start.start(manifest, draft)
    elif draft != drawn and not is_tried:
        st.rerun()


def _settled(manifest: Manifest, draft: Draft, typed: tuple[Variant, bool]) -> Draft:
    """The draft with the values of the form; a change draws what is above the form again."""
    variant, with_parent = typed
    now = _keep(manifest, replace(draft.changed(variant), with_parent=with_parent))
    draw_again(now != draft, start.START, start.ADD, trial.TRY)
    return now


def _chips(savepoint: Savepoint) -> list[str]:
    chips = [chip(savepoint.id, mono=True), chip(f"batch {numbers(savepoint)}", "blue", hint=points(savepoint))]
    return [*chips, chip("damaged", "red", dot=True)] if savepoint.damaged_files else chips


def _caption(savepoint: Savepoint) -> str:
    return f"taken {when(savepoint.created_ms, session.now_ms())} · {formats.size(savepoint.bytes)} full size"


def _draft(manifest: Manifest) -> Draft:
    """The draft for this savepoint, as typed so far."""
    key = f"draft_{manifest.id}"
    if key not in st.session_state:
        st.session_state[key] = drafts.begin(manifest, _job_names())
    kept: Draft = st.session_state[key]
    return kept


def _keep(manifest: Manifest, draft: Draft) -> Draft:
    st.session_state[f"draft_{manifest.id}"] = draft
    return draft


def _job_names() -> set[str]:
    return {summary.job.name for summary in session.workspace().ask(ListJobs())}


def _of_parent(manifest: Manifest) -> Resources:
    """What the savepoint's job may take, and its forks with it; all there is where it is not of this workspace."""
    try:
        return session.workspace().ask(ShowJob(manifest.job)).summary.job.resources
    except NotFound:
        return ALL


def _add(manifest: Manifest, draft: Draft) -> None:
    more = _keep(manifest, draft.added(_job_names()))
    session.select(variant=more.variants[-1].letter)
    st.rerun()


def _remove(manifest: Manifest, draft: Draft, variant: Variant) -> None:
    """Takes a variant out, with what was typed for it; that can come back."""

    def put_back() -> str:
        left = _draft(manifest).variants
        back = _keep(manifest, _draft(manifest).restored(variant))
        if session.selected("savepoint") == manifest.id:
            session.select(variant=next(candidate.letter for candidate in back.variants if candidate not in left))
        return f"{variant.name} is back as it was typed"

    _keep(manifest, draft.without(variant.letter))
    verdicts.forget(f"{manifest.id}_{variant.letter}")
    undo.offer(f"{variant.name} removed", put_back, here=True)


def _variants(manifest: Manifest, draft: Draft) -> tuple[Draft, Variant]:
    """The bar of an experiment, with the variant that is being edited; the single variant where there is but one."""
    if len(draft.variants) == 1 and not draft.with_parent:
        return draft, draft.variants[0]
    letters = [variant.letter for variant in draft.variants]
    with st.container(border=True, key="card_variants"), st.container(horizontal=True, vertical_alignment="center"):
        selected = session.selected("variant")
        address.check_among("variant", letters, "variant")
        letter = st.segmented_control(
            "Variant",
            letters,
            default=selected if selected in letters else letters[0],
            required=True,
            format_func=lambda letter: f"{letter} · {next(v.name for v in draft.variants if v.letter == letter)}",
            key=f"fork_variant_{manifest.id}_{''.join(letters)}",
            label_visibility="collapsed",
        )
        session.select(variant=str(letter or letters[0]))
        if len(letters) > 1 and st.button("Remove", icon=":material/close:", type="tertiary", key="fork_remove"):
            _remove(manifest, draft, next(variant for variant in draft.variants if variant.letter == letter))
            session.select(variant="")
            st.rerun()
        st.space("stretch")
        draft = replace(
            draft,
            experiment=st.text_input(
                "Experiment",
                draft.experiment,
                key=f"fork_experiment_{manifest.id}",
                placeholder="Name of the experiment",
                icon=":material/science:",
                label_visibility="collapsed",
                width=300,
            )
            or "",
        )
    return draft, next(variant for variant in draft.variants if variant.letter == (letter or letters[0]))
