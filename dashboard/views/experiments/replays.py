"""A replay: what came of it, part by part, as the comparison of two jobs shows it; A is the job's own, B the replay's."""

from __future__ import annotations

import streamlit as st

from dashboard import navigation, once, permitted, session
from dashboard.components.frames import save_buttons
from dashboard.components.table import Cell, Column, Row, moment, number, shortened, table
from dashboard.key_figures import KeyFigure, key_figures
from dashboard.views.commands import Shown, commands
from dashboard.views.experiments.shares import PARTS, bar, examples_frame, share, tinted, whole
from dashboard.widgets import Tone, chip, confirm, message_box, page_header, section, when
from pipelines.domain.access import Role
from pipelines.domain.replays import Kind, Outcome, Replay, ReplayedPart
from pipelines.verbs.experiments import Compare
from pipelines.verbs.forget import Forget
from pipelines.verbs.replay import ListReplays, RunReplay
from pipelines.words import formats, replays, verdicts

TONES: dict[Outcome, Tone] = {Outcome.EQUAL: "green", Outcome.DIFFERENT: "orange", Outcome.FAILED: "red", Outcome.NOT_COMPARED: "gray"}
COLUMNS = (
    Column("Replay"),
    Column("Job", wide=True),
    Column("Outcome"),
    Column("From"),
    Column("To"),
    Column("Batches", "right"),
    Column("Ended"),
)


def draw_list() -> None:
    """All replays; nothing where there is none."""
    listed = session.workspace().ask(ListReplays())
    if not listed:
        return
    section("Replays", "changed code over what a job read between two savepoints")
    rows = [_row(replay, session.now_ms()) for replay in listed]
    opened = table(COLUMNS, rows, key="replays", label="Replays", max_height=320)
    if opened:
        session.select(replay=opened)
        st.rerun()


def _row(replay: Replay, now_ms: float) -> Row:
    cells = (
        shortened(replay.id, strong=True),
        Cell(replay.job),
        Cell(replay.outcome.value.capitalize(), tone=TONES[replay.outcome]),
        shortened(replay.savepoint),
        shortened(replay.end),
        number(replay.batches, formats.count),
        moment(replay.created_ms, now_ms),
    )
    return Row(replay.id, cells, navigation.href("experiments", replay=replay.id))


def draw(replay: Replay) -> None:
    """The whole, then each part."""
    chips = [chip(replay.outcome.value, TONES[replay.outcome], dot=True), chip(replay.id, mono=True)]
    ended = f"ended {when(replay.created_ms, session.now_ms())} · took {formats.duration(replay.took_ms)}"
    with page_header(f"Replay of {replay.job}", chips=chips, caption=f"{_span(replay)} · {ended}"):
        if st.button("All experiments", icon=":material/arrow_back:", type="tertiary", key="replay_back"):
            navigation.go("experiments")
        shown: list[Shown] = [RunReplay(savepoint=replay.savepoint, end=replay.end)]
        shown += [Compare(replay.job, replay.fork), Forget(replay.fork)] if replay.kept else []
        commands(shown, key="replay_command")
    st.caption(replays.sentence(replay))
    if replay.failure:
        message_box("Not to the end" if replay.is_interrupted else "The code failed", replay.failure)
    if replay.varies:
        message_box(verdicts.VARIES, ", ".join(replay.varies), tone="blue")
    if replay.kept:
        with st.container(horizontal=True, vertical_alignment="center", key="replay_links"):
            navigation.link("job", f"Open {replay.fork}", icon=":material/stream:", job=replay.fork)
            if not replay.failure:
                navigation.link("experiments", "Compare side by side", icon=":material/compare:", a=replay.job, b=replay.fork)
            if permitted.button("Discard the fork…", Role.AUTHOR, icon=":material/delete:", type="tertiary", key="replay_discard"):
                _ask_discard(replay)
    for at, part in enumerate(replay.parts):
        _part(part, at)


def _ask_discard(replay: Replay) -> None:
    says = f"This deletes **{replay.fork}**: its log, its checkpoint and its output. It cannot be undone."
    stays = "What is said here of the replay stays, with its examples."
    confirm(f"Discard {replay.fork}", says, "Discard", lambda: once.do(Forget(replay.fork)), details=stays, danger=True)


def _span(replay: Replay) -> str:
    ends = " to ".join(
        f'<a href="{navigation.href("savepoints", savepoint=end)}" target="_self">{formats.short_id(end)}</a>'
        for end in (replay.savepoint, replay.end)
    )
    return f"{ends} · {formats.plural(replay.batches, 'batch', 'batches')}"


def _part(part: ReplayedPart, at: int) -> None:
    with st.container(border=True, key=f"card_part_{at}"):
        section(part.title[0].upper() + part.title[1:], part.outcome.value)
        if part.outcome is Outcome.NOT_COMPARED:
            st.caption(f"{part.note[:1].upper()}{part.note[1:]}.")
            return
        by = f"by {', '.join(part.keys)}" if part.keys else "as whole rows"
        counted = "Rows" if part.kind is Kind.OUTPUT else "Keys"
        figures = [
            KeyFigure("Agreement", share(part.equal, whole(part)), note=by),
            KeyFigure(f"{counted} of A", formats.count(part.rows_a), note="the job's own"),
            KeyFigure(f"{counted} of B", formats.count(part.rows_b), note="the replay's"),
        ]
        if part.first is not None:
            figures.append(KeyFigure("First batch", formats.count(part.first), note="whose rows differ"))
        key_figures(figures, min_width=150)
        st.html(bar(part))
        for text in filter(None, (replays.where(part), part.note)):
            st.caption(text)
        _examples(part, at)


def _examples(part: ReplayedPart, at: int) -> None:
    kinds = [(kind, name) for kind, name in PARTS if part.examples.get(kind)]
    if not kinds:
        return
    for (kind, _), tab in zip(kinds, st.tabs([f"{name} ({getattr(part, kind):,})" for kind, name in kinds], key=f"part_{at}"), strict=True):
        with tab:
            frame = examples_frame(part, kind)
            shown = tinted(frame) if kind == "changed" else frame
            st.dataframe(shown, hide_index=True, key=f"part_{at}_{kind}", placeholder="=", alt=f"Examples: {kind}")
            save_buttons(frame, name=f"replay_{kind}", key=f"part_{at}_{kind}")
