"""An upgrade: the same job goes on with other code, arguments or confs, from its own checkpoint or from a savepoint; one that runs is
stopped for it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import streamlit as st

from dashboard import navigation, permitted, session
from dashboard.health import health_chip
from dashboard.views import acceptance, changes, operations, probation, restore_plans, verdicts
from dashboard.views.acceptance import Accepted
from dashboard.views.commands import commands
from dashboard.views.decisions import steps
from dashboard.views.fork import code_changes, drafts, editor, form, trial
from dashboard.views.fork import plans as fork_plans
from dashboard.views.fork.drafts import Variant
from dashboard.views.gone import found
from dashboard.views.job import resume
from dashboard.views.job import watched as watched_jobs
from dashboard.views.probation import Typed
from dashboard.widgets import chip, draw_again, empty_state, error_box, errors_shown, facts, message_box, page_header, section
from pipelines.domain.access import Role
from pipelines.domain.decisions import Step
from pipelines.domain.errors import Invalid, TidemarkError
from pipelines.domain.jobs import JobDetail
from pipelines.domain.restores import RestorePlan
from pipelines.domain.versions import Version
from pipelines.verbs.experiments import ShowVersion
from pipelines.verbs.jobs import ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.upgrade import Upgrade
from pipelines.words import plans, probations, resources, savepoints

START, UPGRADE = "upgrade_start", ":material/upgrade:"
UNCHECKED = "No savepoint stands for the job's present state. Take one on the job's page, and the code is checked against it."
OWN, STANDS = "The job's own checkpoint", "Where it stands when it has stopped"
TEACHES = (
    "An upgrade goes on with the same job: its query id, its output, and its state, with code that you changed. A job that runs is "
    "stopped for it, with a savepoint. It opens from the menu of a job's page."
)


@dataclass(frozen=True)
class Outlook:
    """The change with its plan, or with the error or reason that refuses it."""

    change: Resume | Upgrade | None
    plan: RestorePlan | None = None
    steps: tuple[Step, ...] = ()
    """Of a job that runs."""
    is_unchecked: bool = False
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
        detail = found(ShowJob(name), f"Upgrade {name}", "overview", "All jobs")
        if detail is None or watched_jobs.instead_of_upgrade(name, detail):
            return
        run = detail.summary.run
        if run is None:
            raise Invalid("upgrade.never_ran", f"{name} has never run", "Start it as a new job.")
        _draw(name, detail, session.workspace().ask(ShowVersion(run.version)))


def _draw(name: str, detail: JobDetail, original: Version) -> None:
    chips = [health_chip(detail.summary), chip(original.id, mono=True, hint="The version that it ran last")]
    with page_header(f"Upgrade {name}", chips=chips, key="fork_head"):
        slot = st.container(horizontal=True, vertical_alignment="center", width="content", key="fork_actions")
    key = f"upgrade_{name}_{original.id}"
    kept = st.session_state.setdefault(key, drafts.of_version(original, "new", name)).inheriting(detail.summary.job.resources)
    left, right = st.columns([2.35, 1], gap="medium")
    with left:
        variant = editor.code(original, "its last version", key, kept, lambda changed: st.session_state.update({key: changed}))
    with right:
        savepoint, variant, watched = _form(name, detail, key, original, variant)
        st.session_state[key] = variant
        draw_again((variant.code, variant.files) != (kept.code, kept.files), START, trial.TRY)
        outlook = _outlook(name, detail, original, savepoint, variant, watched)
        _plan(detail, original, variant, outlook)
    with left:
        accepted = _state(key, variant, outlook)
    if accepted != Accepted(variant.drop, variant.map):
        st.session_state[key] = replace(variant, drop=accepted.drop, map=accepted.map)
        st.rerun()
    with slot:
        verdicts.mark({"": outlook.plan})
        trial.of_plan(outlook.plan, variant, left)
        pressed = _buttons(name, variant, outlook)
    if pressed and outlook.change and not outlook.why_not:
        with left, errors_shown():
            if _begun(outlook.change):
                st.session_state.pop(key, None)
            navigation.go("job", job=name)
    elif (variant.code, variant.files) != (kept.code, kept.files):
        st.rerun()


def _form(name: str, detail: JobDetail, key: str, original: Version, variant: Variant) -> tuple[str, Variant, Typed]:
    known = {str(savepoint.id): savepoint for savepoint in session.workspace().ask(ListSavepoints(name))}
    selected = session.selected("savepoint")
    options = ["", *([] if _runs(detail) else known)]
    with st.container(border=True, key="card_form"):
        section("Start from")
        savepoint = st.selectbox(
            "Start from",
            options,
            index=options.index(selected) if selected in options else 0,
            format_func=lambda savepoint_id: savepoints.choice(known[savepoint_id], session.now_ms()) if savepoint_id else _own(detail),
            key=f"{key}_from",
            label_visibility="collapsed",
        )
        session.select(savepoint=savepoint or "")
        section("Changes")
        holder = "savepoint" if savepoint else "checkpoint"
        queries = {image.query for image in known[savepoint].queries} if savepoint else {query.query for query in detail.queries}
        variant = form.fields(key, form.migrated(key, variant), queries, holder, original)
        watched = probation.fields(key)
    return savepoint or "", variant, watched


def _own(detail: JobDetail) -> str:
    batch = detail.summary.batch
    return STANDS if _runs(detail) else OWN if batch is None else f"{OWN}, after batch {batch:,}"


def _runs(detail: JobDetail) -> bool:
    """Whether it is stopped first."""
    return detail.summary.state is not None and detail.summary.state.live


def _begun(change: Resume | Upgrade) -> bool:
    """Begins the change; whether what was typed for it is needed no more."""
    if isinstance(change, Resume):
        return changes.resume(change) is not None
    operations.begin(change)
    return True


def _outlook(name: str, detail: JobDetail, original: Version, savepoint: str, variant: Variant, watched: Typed) -> Outlook:
    try:
        change = changed(name, original, savepoint, variant)
        why_not = "" if _runs(detail) else resume.why_not(detail)
        fork_plans.refuse_wrong(variant)
        if not why_not and change == Resume(name, from_savepoint=savepoint):
            why_not = f"Nothing is changed yet{'' if _runs(detail) else '; to go on with the same code, resume it'}."
        change = watched.on(change)
        if _runs(detail):
            running = upgrade(change)
            stopping = session.workspace().plan(running) if not why_not else None
            if stopping is None:
                return Outlook(running, why_not=why_not)
            why_not, is_unchecked = plans.refusal(stopping.restore), running.is_unchecked(stopping)
            return Outlook(running, stopping.restore, stopping.steps, is_unchecked, why_not=why_not)
        plan = session.workspace().plan(change) if not why_not else None
    except TidemarkError as error:
        return Outlook(None, refusal=error, why_not=error.message)
    return Outlook(change, plan, (), plan is not None and change.is_unchecked(plan), why_not=why_not or plans.refusal(plan))


def upgrade(change: Resume) -> Upgrade:
    """The same of a job that runs."""
    return Upgrade(**{part.name: getattr(change, part.name) for part in fields(Upgrade)})


def changed(name: str, original: Version, savepoint: str, variant: Variant) -> Resume:
    """The resume with only what differs from the last version; Invalid where the text cannot be read."""
    asked = variant.asked()
    return Resume(
        name,
        from_savepoint=savepoint,
        code=asked.code if asked.code != original.code else None,
        args=asked.args if asked.args != original.args else None,
        conf=asked.conf if asked.conf != dict(original.conf) else None,
        master=asked.master if asked.master and asked.master != original.master else None,
        python=asked.python if asked.python != original.python else None,
        java_home=asked.java_home if asked.java_home != (original.java_home if asked.python == original.python else "") else None,
        new_queries=asked.new_queries,
        files=code_changes.changed_files(variant, original),
        requirements=asked.requirements if asked.requirements != original.requirements else None,
        memory_bytes=asked.memory_bytes,
        cpus=asked.cpus,
        migrate=asked.migrate,
        drop=asked.drop,
        map=asked.map,
        check=asked.check,
    )


def _state(key: str, variant: Variant, outlook: Outlook) -> Accepted:
    """The verdict on the code, for the wide column; answers with what was said of the state."""
    if outlook.plan is None or outlook.refusal:
        return Accepted()
    if outlook.is_unchecked:
        message_box("The code is not checked before it starts", UNCHECKED, tone="orange")
    verdicts.of_plan(outlook.plan, variant.asked(), key)
    return acceptance.accepted(outlook.plan.verdict, key)


def _plan(detail: JobDetail, original: Version, variant: Variant, outlook: Outlook) -> None:
    """The plan as a card."""
    with st.container(border=True, key="card_plan"):
        ready = chip("cannot start", "red", dot=True) if outlook.refusal else chip("not yet", "gray", dot=True)
        verdict = ready if outlook.why_not else chip("ready to start", "green", dot=True)
        st.html(f'<div class="tm-section"><h2>Plan</h2>{verdict}</div>')
        if outlook.refusal:
            error_box(outlook.refusal)
            return
        if outlook.steps:
            st.html(steps(outlook.steps))
        if outlook.plan and outlook.plan.savepoint:
            restore_plans.draw(outlook.plan)
        else:
            changed = code_changes.told(original, variant, outlook.change)
            facts([("State", _own(detail)), ("Query id", "kept"), *changed, *_more(outlook.plan)])
        if outlook.why_not and not (outlook.plan and outlook.plan.savepoint):
            st.caption(outlook.why_not)


def _more(plan: RestorePlan | None) -> list[tuple[str, str]]:
    """What it may take and what holds it, and how it is watched; nothing of what it has not."""
    limits = [("Limits", resources.held(plan.resources, plan.means))] if plan and plan.means else []
    return [*limits, *((name.capitalize(), text) for name, text in (probations.plan(plan.probation) if plan and plan.probation else []))]


def _buttons(name: str, variant: Variant, outlook: Outlook) -> bool:
    """Draws the buttons; returns whether Start was pressed."""
    change = outlook.change
    if change:
        from_file = change if change.code is None else replace(change, script=variant.script)
        commands([("Upgrade", from_file)], key="upgrade_command")
    if st.button("Back to the job", key="upgrade_back"):
        navigation.go("job", job=name)
    why_not = outlook.why_not or None
    return permitted.button("Start upgrade", Role.AUTHOR, type="primary", icon=UPGRADE, key=START, disabled=bool(why_not), help=why_not)
