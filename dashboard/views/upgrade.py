"""An upgrade: the same job goes on with other code, arguments or confs, from its own checkpoint or from a savepoint."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from dashboard import equivalents, formats, navigation, session
from dashboard.components.code_editor import syntax_diagnostics
from dashboard.views import restore_plans, waiting
from dashboard.views.commands import commands
from dashboard.views.fork import drafts, form
from dashboard.views.fork.drafts import Variant
from dashboard.views.job import resuming
from dashboard.widgets import chip, draw_again, empty_state, error_box, errors_shown, facts, page_header, section, state_chip
from pipelines.domain.errors import Invalid, TidemarkError
from pipelines.domain.jobs import JobDetail
from pipelines.domain.requests import ResumeRequest
from pipelines.domain.savepoints import RestorePlan
from pipelines.domain.versions import Version

START = "upgrade_start"
OWN = "Its own checkpoint"
TEACHES = (
    "An upgrade goes on with the same job: its query id, its output, and its state, with code that you changed. It opens from the page of "
    "a job that is not running."
)


@dataclass(frozen=True)
class Outlook:
    """What would be asked for, with its plan where there is one, or what refuses it."""

    request: ResumeRequest | None
    plan: RestorePlan | None = None
    refusal: TidemarkError | None = None
    why_not: str = ""


def page() -> None:
    """Draws the upgrade of the job that the address names."""
    name = session.selected("job")
    if not name:
        with page_header("Upgrade"):
            pass
        with empty_state("No job is chosen", TEACHES, key="upgrade"):
            navigation.link("overview", "Open the overview", icon=":material/monitoring:")
        return
    with errors_shown():
        detail = session.workspace().job(name)
        run = detail.summary.run
        if run is None:
            raise Invalid("upgrade.never_ran", f"{name} has never run", "Start it as a new job.")
        _draw(name, detail, session.workspace().version(run.version))


def _draw(name: str, detail: JobDetail, original: Version) -> None:
    chips = [state_chip(detail.summary.state), chip(original.id, mono=True, hint="The version that it ran last")]
    with page_header(f"Upgrade {name}", chips=chips, key="fork_head"):
        slot = st.container(horizontal=True, vertical_alignment="center", width="content", key="fork_actions")
    key = f"upgrade_{name}_{original.id}"
    kept = st.session_state.setdefault(key, drafts.of_version(original, "new", name))
    left, right = st.columns([2.35, 1], gap="medium")
    with left:
        variant = form.code(original, "its last version", key, kept, lambda changed: st.session_state.update({key: changed}))
    with right:
        savepoint, variant = _form(name, detail, key, variant)
        st.session_state[key] = variant
        draw_again(variant.code != kept.code, START)
        outlook = _outlook(name, detail, original, savepoint, variant)
        _plan(detail, original, variant, outlook)
    with slot:
        wanted = _buttons(name, variant, outlook)
    if wanted and outlook.request and not outlook.why_not:
        with left, errors_shown():
            if waiting.resume(name, outlook.request):
                st.session_state.pop(key, None)
            navigation.go("job", job=name)
    elif variant.code != kept.code:
        st.rerun()


def _form(name: str, detail: JobDetail, key: str, variant: Variant) -> tuple[str, Variant]:
    known = {str(one.id): one for one in session.workspace().savepoints(name)}
    wanted = session.selected("savepoint")
    options = ["", *known]
    with st.container(border=True, key="card_form"):
        section("Begins from")
        savepoint = st.selectbox(
            "Begins from",
            options,
            index=options.index(wanted) if wanted in options else 0,
            format_func=lambda one: resuming.savepoint_words(known[one]) if one else _own(detail),
            key=f"{key}_from",
            label_visibility="collapsed",
        )
        session.select(savepoint=savepoint or "")
        section("Changes")
        holder = "savepoint" if savepoint else "checkpoint"
        queries = {image.query for image in known[savepoint].queries} if savepoint else {one.query for one in detail.queries}
        variant = form.fields(key, variant, queries, holder)
    return savepoint or "", variant


def _own(detail: JobDetail) -> str:
    return f"{OWN}, after batch {detail.summary.batch:,}" if detail.summary.batch is not None else OWN


def _outlook(name: str, detail: JobDetail, original: Version, savepoint: str, variant: Variant) -> Outlook:
    """What would happen; from its own checkpoint nothing is restored, so there is no plan to ask for."""
    try:
        request = changed(original, savepoint, variant)
        why_not = resuming.why_not(detail)
        for found in syntax_diagnostics(variant.code, variant.script):
            raise Invalid("version.syntax", f"Line {found.line}: {found.message}", "The editor marks the place.")
        if not why_not and request == ResumeRequest(savepoint):
            why_not = "Nothing is changed yet; to go on with the same code, resume it."
        plan = session.workspace().resume(name, replace(request, dry_run=True)) if savepoint and not why_not else None
    except TidemarkError as error:
        return Outlook(None, refusal=error, why_not=error.message)
    restored = plan if isinstance(plan, RestorePlan) else None
    return Outlook(request, restored, why_not=why_not or restore_plans.refusal(restored))


def changed(original: Version, savepoint: str, variant: Variant) -> ResumeRequest:
    """What is asked for besides what the last version has already; Invalid where the text cannot be read."""
    asked = variant.request()
    return ResumeRequest(
        from_savepoint=savepoint,
        code=asked.code if asked.code != original.code else None,
        args=asked.args if asked.args != original.args else None,
        conf=asked.conf if asked.conf != dict(original.conf) else None,
        master=asked.master if asked.master and asked.master != original.master else None,
        python=asked.python if asked.python != original.python else None,
        new_queries=asked.new_queries,
    )


def _plan(detail: JobDetail, original: Version, variant: Variant, outlook: Outlook) -> None:
    with st.container(border=True, key="card_plan"):
        ready = chip("cannot start", "red", dot=True) if outlook.refusal else chip("not yet", "gray", dot=True)
        verdict = ready if outlook.why_not else chip("ready to start", "green", dot=True)
        st.html(f'<div class="tm-section"><h2>Plan</h2>{verdict}</div>')
        if outlook.refusal:
            error_box(outlook.refusal)
            return
        if outlook.plan:
            restore_plans.draw(outlook.plan)
            st.caption(restore_plans.KEPT)
        else:
            facts([("State", _own(detail)), ("Query id", "kept"), ("Code", _difference(original, variant))])
        if outlook.why_not:
            st.caption(outlook.why_not)


def _difference(original: Version, variant: Variant) -> str:
    added, removed = drafts.difference(original.code, variant.code)
    return f"{formats.plural(added, 'line')} added, {removed:,} removed" if added or removed else "unchanged"


def _buttons(name: str, variant: Variant, outlook: Outlook) -> bool:
    """Whether it shall begin."""
    if outlook.request:
        commands([equivalents.upgrade(name, session.url(), outlook.request, variant.script)], key="upgrade_command")
    if st.button("Back to the job", key="upgrade_back"):
        navigation.go("job", job=name)
    refused = outlook.why_not
    return st.button("Start upgrade", type="primary", icon=":material/upgrade:", key=START, disabled=bool(refused), help=refused or None)
