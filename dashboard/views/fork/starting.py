"""The start: one fork, or several as an experiment; and the same as a command and a REST call."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from dashboard import navigation, session
from dashboard.equivalents import Equivalent
from dashboard.views import operations, waiting
from dashboard.views.commands import commands, said
from dashboard.views.fork.drafts import Draft, Variant
from dashboard.widgets import errors_shown
from pipelines.domain.errors import TidemarkError
from pipelines.domain.experiments import Experiment
from pipelines.domain.jobs import Run
from pipelines.domain.requests import ExperimentRequest
from pipelines.domain.savepoints import Manifest

START, ADD = "fork_start", "fork_add"
"""Keys of what is pressed when all is typed."""


def button(manifest: Manifest, draft: Draft, why_not: str) -> bool:
    """The primary button; disabled with the reason on it where something would be refused, and while it is done."""
    why_not = why_not or (waiting.BUSY if waiting.is_asked(_starting(manifest)) else "")
    label = "Start experiment" if draft.is_experiment else "Start fork"
    return st.button(label, type="primary", icon=":material/rocket_launch:", key=START, disabled=bool(why_not), help=why_not or None)


def start(manifest: Manifest, draft: Draft) -> None:
    """Starts it and opens what came of it; a refusal is shown, and all that was typed stays."""
    with errors_shown():
        if draft.is_experiment:
            _open(manifest, waiting.ask(_starting(manifest), _experimenting(manifest, draft), f"{draft.experiment.strip()} began"))
        else:
            request = draft.variants[0].request()
            forking = partial(session.workspace().fork, manifest.id, request)
            _open(manifest, waiting.ask(_starting(manifest), forking, f"{request.name} was forked"))
        st.rerun()


def _experimenting(manifest: Manifest, draft: Draft) -> Callable[[], Experiment]:
    requests = tuple(variant.request() for variant in draft.variants)
    request = ExperimentRequest(draft.experiment.strip(), manifest.id, requests, draft.with_parent)
    return partial(session.workspace().start_experiment, request)


def see(manifest: Manifest) -> None:
    """What is being made, where its bytes are copied; opens it when it is there, and shows what refused it."""
    operations.under_way(lambda one: one.kind == "fork" and one.subject == manifest.id, key="fork")
    with errors_shown():
        _open(manifest, waiting.answered(_starting(manifest)))


def _starting(manifest: Manifest) -> str:
    """Under which a fork of the savepoint is waited for."""
    return f"fork_{manifest.id}"


def _open(manifest: Manifest, begun: object) -> None:
    """Nothing where it has not begun yet."""
    if isinstance(begun, Experiment):
        _forget(manifest)
        navigation.go("experiments", experiment=begun.id)
    if isinstance(begun, Run):
        _forget(manifest)
        navigation.go("job", job=begun.job)


def _forget(manifest: Manifest) -> None:
    """The next visit begins anew."""
    st.session_state.pop(f"draft_{manifest.id}", None)


def shell(manifest: Manifest, draft: Draft) -> None:
    """The popover with the command and the call of what the button would do."""
    with errors_shown():
        try:
            shown = _experiment(manifest, draft) if draft.is_experiment else _fork(manifest, draft.variants[0])
        except TidemarkError:
            return  # what cannot be read is said by the plan
        commands([shown], key="fork_command")


OPTIONS = {"master": "--master", "python": "--runtime"}


def _fork(manifest: Manifest, variant: Variant) -> Equivalent:
    changed = changes(manifest, variant)
    code = ["--code", variant.script] if "code" in changed else []
    args = [f"--arg={arg}" for arg in changed.get("args", ())]
    confs = [part for name, value in changed.get("conf", {}).items() for part in ("--conf", f"{name}={value}")]
    engine = [part for option in ("master", "python") if option in changed for part in (OPTIONS[option], changed[option])]
    sinks = [part for query, choice in changed.get("sinks", {}).items() for part in ("--sink", f"{query}={choice}")]
    new = [part for query in changed.get("new_queries", ()) for part in ("--new-query", query)]
    words = ["fork", manifest.id, "--name", variant.name, *code, *args, *confs, *engine, *sinks, *new]
    return said("Start this fork", words, "POST", f"/savepoints/{manifest.id}/fork", _shortened(changed))


def _experiment(manifest: Manifest, draft: Draft) -> Equivalent:
    variants = [changes(manifest, variant) for variant in draft.variants]
    given = [f"{one['name']}={variant.script if 'code' in one else ''}" for one, variant in zip(variants, draft.variants, strict=True)]
    words = ["experiment", manifest.id, "--name", draft.experiment, *(part for one in given for part in ("--variant", one))]
    body = {
        "name": draft.experiment,
        "savepoint": manifest.id,
        "variants": [_shortened(one) for one in variants],
        "with_parent": draft.with_parent,
    }
    parent = ["--with-parent"] if draft.with_parent else []
    return said("Start this experiment", [*words, *parent], "POST", "/experiments", body)


def changes(manifest: Manifest, variant: Variant) -> dict[str, Any]:
    """What the variant asks for besides what the savepoint has already."""
    asked, kept = variant.request(), manifest.version
    found: dict[str, Any] = {"name": asked.name}
    if asked.code != kept.code:
        found |= {"code": asked.code, "script": asked.script}
    if asked.args != kept.args:
        found["args"] = list(asked.args or ())
    if asked.conf != dict(kept.conf):
        found["conf"] = dict(asked.conf or {})
    if asked.master and asked.master != kept.master:
        found["master"] = asked.master
    if asked.python != kept.python:
        found["python"] = asked.python
    if asked.sinks:
        found["sinks"] = dict(asked.sinks)
    if asked.new_queries:
        found["new_queries"] = list(asked.new_queries)
    return found


def _shortened(changed: dict[str, Any]) -> dict[str, Any]:
    """Without the code's text, for which a call to copy has no room."""
    return {**changed, "code": "…"} if "code" in changed else json.loads(json.dumps(changed))
