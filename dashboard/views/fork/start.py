"""The start: one fork, or several as an experiment; and the same as a command and a REST call."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dashboard import navigation, permitted
from dashboard.views import changes, operations, verdicts
from dashboard.views.commands import Shown, commands
from dashboard.views.fork.code_changes import changed_files
from dashboard.views.fork.drafts import LETTERS, Draft, Variant, fork_from
from dashboard.widgets import errors_shown
from pipelines.domain.access import Role
from pipelines.domain.errors import TidemarkError
from pipelines.domain.experiments import Experiment
from pipelines.domain.jobs import Run
from pipelines.domain.savepoints import Manifest
from pipelines.verbs import fork
from pipelines.verbs.experiment import StartExperiment

START, ADD = "fork_start", "fork_add"
"""Keys of what is pressed when all is typed."""


def button(manifest: Manifest, draft: Draft, why_not: str) -> bool:
    """The primary button; disabled with the reason on it where something would be refused, and while it is done."""
    why_not = why_not or (changes.BUSY if changes.is_asked(_starting(manifest)) else "")
    label = "Start experiment" if draft.is_experiment else "Start fork"
    return permitted.button(
        label, Role.AUTHOR, type="primary", icon=":material/rocket_launch:", key=START, disabled=bool(why_not), help=why_not or None
    )


def start(manifest: Manifest, draft: Draft) -> None:
    """Starts it and opens what came of it; a refusal is shown, and all that was typed stays."""
    with errors_shown():
        if draft.is_experiment:
            experiment = changes.ask(_starting(manifest), _experiment(manifest, draft), f"{draft.experiment.strip()} began")
            _open(manifest, experiment)
        else:
            variant = draft.variants[0].asked()
            run = changes.ask(_starting(manifest), fork_from(manifest.id, variant), f"{variant.name} was forked")
            _open(manifest, run)
        st.rerun()


def _experiment(manifest: Manifest, draft: Draft) -> StartExperiment:
    variants = tuple(variant.asked() for variant in draft.variants)
    return StartExperiment(draft.experiment.strip(), manifest.id, variants, draft.with_parent)


def see(manifest: Manifest) -> None:
    """Shows the running fork of this savepoint; opens the new job when it is there, and shows the error that refused it."""
    operations.under_way(lambda operation: operation.kind == "fork" and operation.subject == manifest.id, key="fork")
    with errors_shown():
        _open(manifest, changes.answered(_starting(manifest)))


def _starting(manifest: Manifest) -> str:
    """The key under which a fork of the savepoint is awaited."""
    return f"fork_{manifest.id}"


def _open(manifest: Manifest, begun: object) -> None:
    """Opens the new job or experiment; does nothing while it has not begun."""
    if isinstance(begun, Experiment):
        _forget(manifest)
        navigation.go("experiments", experiment=begun.id)
    if isinstance(begun, Run):
        _forget(manifest)
        navigation.go("job", job=begun.job)


def _forget(manifest: Manifest) -> None:
    """The next visit begins anew."""
    st.session_state.pop(f"draft_{manifest.id}", None)
    for letter in LETTERS:
        verdicts.forget(f"{manifest.id}_{letter}")


def shell(manifest: Manifest, draft: Draft) -> None:
    """The popover with the command and the call of what the button would do."""
    with errors_shown():
        try:
            commands([_shown(manifest, draft)], key="fork_command")
        except TidemarkError:
            return  # what cannot be read is said by the plan


def _shown(manifest: Manifest, draft: Draft) -> Shown:
    variants = tuple(_revised(manifest, variant) for variant in draft.variants)
    if draft.is_experiment:
        return "Start this experiment", StartExperiment(draft.experiment, manifest.id, variants, draft.with_parent)
    return "Start this fork", fork_from(manifest.id, variants[0])


def _revised(manifest: Manifest, variant: Variant) -> fork.Variant:
    """The variant with only what differs from the savepoint."""
    asked, kept = variant.asked(), manifest.version
    same_code = asked.code == kept.code
    return replace(
        asked,
        code=None if same_code else asked.code,
        script=None if same_code else asked.script,
        files=changed_files(variant, kept),
        args=None if asked.args == kept.args else asked.args,
        conf=None if asked.conf == dict(kept.conf) else asked.conf,
        master=None if asked.master == kept.master else asked.master,
        python=None if asked.python == kept.python else asked.python,
        java_home=None if (asked.python, asked.java_home) == (kept.python, kept.java_home) else asked.java_home,
        requirements=None if asked.requirements == kept.requirements else asked.requirements,
    )
