"""Try it: the edited code runs one batch on the savepoint's state, in the sandbox, and its rows are shown; nothing is written."""

from __future__ import annotations

from dataclasses import fields
from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import permitted, session
from dashboard.views import changes, operations
from dashboard.views.fork.drafts import Variant
from dashboard.views.state.frame import show
from dashboard.widgets import errors_shown, message_box, section
from pipelines.domain.access import Role
from pipelines.domain.changed_meanings import ChangedMeaning, KeyExample
from pipelines.domain.restores import RestorePlan
from pipelines.domain.savepoints import Manifest
from pipelines.domain.trials import Trial
from pipelines.verbs.migrating import Migrating
from pipelines.verbs.revision import Revision
from pipelines.verbs.savepoints import ReadManifest
from pipelines.verbs.try_code import TryCode
from pipelines.words import changed_meanings as key_words
from pipelines.words import formats
from pipelines.words import verdicts as words

TRY = "fork_try"
HELP = (
    "Restores a copy of the state, runs one batch of this code, and shows the rows that it would write; where the meaning of state "
    "changes, also a key with what both codes make of that batch. Nothing is written."
)


def button(manifest: Manifest, variant: Variant, damaged: str) -> bool:
    """Asks for the trial; disabled while one runs, where there is no code, and where the savepoint is `damaged`: why. Whether it was
    pressed."""
    busy = changes.is_asked(_key(manifest))
    code = "" if manifest.version.code or variant.code else "There is no code to try yet"
    why_not = damaged or (changes.BUSY if busy else code)
    pressed = permitted.button("Try it", Role.AUTHOR, icon=":material/experiment:", key=TRY, disabled=bool(why_not), help=why_not or HELP)
    if pressed:
        st.session_state[f"{TRY}_{manifest.id}"] = variant
    return pressed


def draw(manifest: Manifest) -> None:
    """Begins the trial that was asked for, shows its progress, and the rows of the last one."""
    asked, kept = f"{TRY}_{manifest.id}", f"{TRY}_kept_{manifest.id}"
    operations.under_way(lambda operation: operation.kind == "try" and operation.subject == manifest.id, key="try")
    with errors_shown():
        if (trial := changes.answered(_key(manifest))) is not None:
            st.session_state[kept] = trial
            st.rerun()
        if (variant := st.session_state.pop(asked, None)) is not None:
            st.session_state[kept] = changes.ask(_key(manifest), _trial(manifest, variant), f"The code was tried on {manifest.id}")
            st.rerun()
    if isinstance(st.session_state.get(kept), Trial):
        _shown(st.session_state[kept])


def of_plan(plan: RestorePlan | None, variant: Variant, place: DeltaGenerator) -> None:
    """The same where a job goes on: on the savepoint that stands for its state, with the rows in `place`; nothing where none does."""
    if plan is None or plan.judged is None:
        return
    manifest = session.workspace().ask(ReadManifest(plan.judged))
    button(manifest, variant, "")
    with place:
        draw(manifest)


def _shown(trial: Trial) -> None:
    section("Trial", f"one batch of the code as it was when it was tried, in {formats.duration(trial.took_ms)}; nothing was written")
    if trial.note:
        message_box(
            "The code does not run" if trial.failed else "Not every query ran a batch", trial.note, tone="red" if trial.failed else "blue"
        )
    for query in trial.queries:
        batch = query.batch
        st.caption(
            f"{query.query}, batch {batch.batch:,}: {formats.plural(batch.input_rows, 'row')} in, {batch.output_rows:,} would be written"
        )
        if query.rows.rows:
            show(query.rows, key=f"trial_{query.query}", label=f"Rows that {query.query} would write")
    for meaning in trial.meanings:
        _meaning(meaning)


def _meaning(meaning: ChangedMeaning) -> None:
    """An operator whose state means something else, or was rewritten, and one key that shows it: the columns that differ, at the savepoint
    and after the batch of either code."""
    is_all_shown = meaning.example is not None and meaning.example.old is not None
    text = " ".join((*(f"{reason.rstrip('.')}." for reason in meaning.reasons), *(() if is_all_shown else (meaning.sentence,))))
    message_box(words.subject(meaning), text, tone="orange", tag=meaning.outcome)
    if meaning.example is not None:
        st.html(_key_table(meaning, meaning.example))


def _key_table(meaning: ChangedMeaning, example: KeyExample) -> str:
    after = f"after batch {meaning.batch:,}"
    sides = [("In the savepoint", example.saved), (f"Code before, {after}", example.old), (f"This code, {after}", example.new)]
    shown = [(title, rows) for title, rows in sides if rows is not None]
    head = "".join(f"<th>{title}</th>" for title, _ in shown)
    lines = [(key_words.column(example, name), [key_words.cell(rows, name) for _, rows in shown]) for name in example.differing]
    body = "".join(f'<tr class="differs"><th>{escape(name)}</th>{"".join(map(_cell, cells))}</tr>' for name, cells in lines)
    caption = f"<caption>For example, {escape(key_words.key(example.key))}</caption>"
    return f'<table class="tm-both tm-key">{caption}<thead><tr><th>What it keeps</th>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(text: str) -> str:
    return f"<td>{escape(text)}</td>"


def _trial(manifest: Manifest, variant: Variant) -> TryCode:
    asked = variant.asked()
    given = {part.name: getattr(asked, part.name) for part in (*fields(Revision), *fields(Migrating))}
    return TryCode(manifest.id, new_queries=asked.new_queries, **given)


def _key(manifest: Manifest) -> str:
    return f"try_{manifest.id}"
