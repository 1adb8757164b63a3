"""What a page does, said as a command and as a REST call, to copy. Pure text."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from pipelines.domain.decisions import StateFrom
from pipelines.domain.requests import AttachRequest, ResumeRequest
from pipelines.domain.states import MOST_ROWS, StateQuery, StateRequest
from pipelines.domain.trust import Trust


@dataclass(frozen=True)
class Equivalent:
    """One action: what it does in a word or two, its command, its REST call."""

    title: str
    command: str
    call: str


def savepoint(job: str, url: str, *, batch: int | None = None, event: tuple[str, int] | None = None, label: str = "") -> Equivalent:
    """`event` is an event time, as the command reads it and in epoch ms."""
    options = [*_option("--batch", batch), *_option("--event-time", event[0] if event else None), *_option("--label", label or None)]
    body = _given({"batch": batch, "event_ms": event[1] if event else None, "label": label or None})
    return Equivalent("Take a savepoint", _command("savepoint", job, *options), _post(url, f"/jobs/{quote(job)}/savepoints", body))


def stop(job: str, url: str, *, with_savepoint: bool = True, label: str = "") -> Equivalent:
    options = [*([] if with_savepoint else ["--no-savepoint"]), *_option("--label", label or None)]
    body = {"savepoint": with_savepoint, **({"label": label} if label else {})}
    return Equivalent("Stop at a batch boundary", _command("stop", job, *options), _post(url, f"/jobs/{quote(job)}/stop", body))


def cancel(job: str, url: str) -> Equivalent:
    return Equivalent("Cancel at once", _command("cancel", job), _post(url, f"/jobs/{quote(job)}/stop", {"at_once": True}))


def resume(job: str, url: str, *, from_savepoint: str = "", batch: int | None = None) -> Equivalent:
    options = [*_option("--from", from_savepoint or None), *_option("--batch", batch)]
    body = _given({"from_savepoint": from_savepoint or None, "batch": batch})
    title = "Resume" if batch is None else f"Go back to batch {batch:,}"
    return Equivalent(title, _command("resume", job, *options), _post(url, f"/jobs/{quote(job)}/resume", body))


def upgrade(job: str, url: str, request: ResumeRequest, script: str) -> Equivalent:
    """The command takes the code from a file; REST takes its text, here left for the caller to fill in."""
    options = [*_option("--from", request.from_savepoint or None), *_option("--code", script if request.code is not None else None)]
    options += [part for arg in request.args or () for part in (f"--arg={arg}",)]
    options += [part for name, value in (request.conf or {}).items() for part in ("--conf", f"{name}={value}")]
    options += [
        *_option("--master", request.master),
        *_option("--runtime", request.python),
        *(part for one in request.new_queries for part in ("--new-query", one)),
    ]
    body = {
        "from_savepoint": request.from_savepoint or None,
        "code": "…" if request.code is not None else None,
        "args": list(request.args) if request.args is not None else None,
        "conf": dict(request.conf) if request.conf is not None else None,
        "master": request.master,
        "python": request.python,
        "new_queries": list(request.new_queries) or None,
    }
    return Equivalent("Upgrade", _command("resume", job, *options), _post(url, f"/jobs/{quote(job)}/resume", _given(body)))


def forget(job: str, url: str) -> Equivalent:
    return Equivalent("Forget", _command("forget", job), f"curl -X DELETE {shlex.quote(f'{url}/api/v1/jobs/{quote(job)}')}")


def run(script: str, url: str, *, name: str, args: tuple[str, ...], conf: Mapping[str, str], master: str) -> Equivalent:
    """The command takes the script from a file; REST takes its text, here left for the caller to fill in."""
    options = [*_option("--name", name or None)]
    options += [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    options += ["--master", master] if master != "local[2]" else []
    options += ["--", *args] if args else []
    body = {"name": name, "script": script, "code": "…", "args": list(args), "conf": dict(conf), "master": master}
    return Equivalent("Start", _command("run", script or "SCRIPT.py", *options), _post(url, "/jobs", body))


def attach(request: AttachRequest, url: str) -> Equivalent:
    """One checkpoint as an argument, several as options."""
    places = dict(request.checkpoints)
    several = [part for query, at in places.items() for part in ("--checkpoint", f"{query}={at}")]
    single = [next(iter(places.values())), "--query", next(iter(places))] if len(places) == 1 else []
    options = [*(single or several), *_option("--sink", request.sink or None), *_option("--sink-path", request.sink_path or None)]
    options += [*_option("--code", request.script if request.code else None), *(f"--arg={arg}" for arg in request.args)]
    body = {"name": request.name, "checkpoints": places, "sink": request.sink or None, "sink_path": request.sink_path or None}
    code = {"script": request.script, "code": "…", "args": list(request.args)} if request.code else {}
    return Equivalent("Attach", _command("attach", request.name or "NAME", *options), _post(url, "/jobs/attach", {**_given(body), **code}))


def verify(savepoint: str, url: str, level: Trust) -> Equivalent:
    call = f"curl -X POST {shlex.quote(f'{url}/api/v1/savepoints/{savepoint}/verifications?level={level}')}"
    title = "Prove" if level is Trust.PROVED else "Verify"
    return Equivalent(title, _command("verify", savepoint, "--level", level), call)


def diagnose(subject: str, url: str) -> Equivalent:
    named = quote(subject, safe="")
    call = f"curl {shlex.quote(f'{url}/api/v1/diagnosis?subject={named}')}"
    return Equivalent("Look for damage", _command("verify", subject), call)


def states(savepoint: str, url: str) -> Equivalent:
    return Equivalent("Which state it has", _command("state", savepoint, "--tables"), f"curl {url}/api/v1/savepoints/{savepoint}/states")


def read_state(savepoint: str, url: str, asked: StateRequest) -> Equivalent:
    """The command reads and prints; REST begins to read, as an operation."""
    options = [*_table(asked), *_option("--read-rows", asked.limit if asked.limit != MOST_ROWS else None)]
    body = {**_table_body(asked), "limit": asked.limit}
    return Equivalent("Read the state", _command("state", savepoint, *options), _post(url, f"/savepoints/{savepoint}/states", body))


def query_state(savepoint: str, url: str, asked: StateQuery) -> Equivalent:
    sort = f"{'-' if asked.descending else ''}{asked.sort}" if asked.sort else None
    chosen = [*_option("--filter", asked.filter or None), *([f"--sort={sort}"] if sort else []), *_option("--sql", asked.sql or None)]
    page = {"filter": asked.filter or None, "sort": asked.sort or None, "descending": asked.descending or None, "sql": asked.sql or None}
    title = "Ask with SQL" if asked.sql else "Show rows"
    call = _post(url, f"/savepoints/{savepoint}/states/query", {**_table_body(asked), **_given(page), "limit": asked.limit})
    return Equivalent(title, _command("state", savepoint, *_table(asked), *chosen, "--limit", str(asked.limit)), call)


def _table(asked: StateRequest | StateQuery) -> Sequence[str]:
    return [
        *_option("--query", asked.query or None),
        *_option("--operator", asked.operator),
        *_option("--store", asked.store or None),
        *_option("--variable", asked.variable or None),
    ]


def _table_body(asked: StateRequest | StateQuery) -> Mapping[str, Any]:
    named = {"query": asked.query or None, "operator": asked.operator, "store": asked.store or None, "variable": asked.variable or None}
    return _given(named)


def export(savepoint: str, url: str, to: str, *, archive: bool, then_dispose: bool) -> Equivalent:
    place = to or "URL"
    options = [*_shape(place, archive), *(["--then-dispose"] if then_dispose else [])]
    body = {"url": place, "archive": archive, "then_dispose": then_dispose}
    return Equivalent("Export", _command("export", savepoint, place, *options), _post(url, f"/savepoints/{savepoint}/export", body))


def _shape(place: str, archive: bool) -> Sequence[str]:
    """Only said where the place's ending says something else."""
    return [] if archive == place.endswith(".tar.zst") else ["--archive" if archive else "--directory"]


def import_savepoint(url: str, of: str) -> Equivalent:
    place = of or "URL"
    return Equivalent("Import", _command("import", place), _post(url, "/savepoints/import", {"url": place}))


def annotate(savepoint: str, url: str, *, label: str) -> Equivalent:
    """Of the three the label alone: note and date are given the same way."""
    call = _call("PATCH", url, f"/savepoints/{savepoint}", {"label": label})
    return Equivalent("Label", _command("annotate", savepoint, "--label", label), call)


def dispose(savepoints: Sequence[str], url: str) -> Equivalent:
    """One call for all: what they free is counted for the set."""
    return Equivalent("Dispose", _command("dispose", *savepoints), _post(url, "/savepoints/dispose", {"savepoints": list(savepoints)}))


def operators(job: str, url: str) -> Equivalent:
    call = f"curl {shlex.quote(f'{url}/api/v1/jobs/{quote(job)}/operators')}"
    return Equivalent("Sources, operators and sinks", _command("operators", job), call)


def plan(job: str, url: str) -> Equivalent:
    call = f"curl {shlex.quote(f'{url}/api/v1/jobs/{quote(job)}/plan')}"
    return Equivalent("Spark's plan", _command("plan", job), call)


def operations(url: str) -> Equivalent:
    call = f"curl {shlex.quote(f'{url}/api/v1/operations?running=true')}"
    return Equivalent("What is under way", _command("operations", "--running"), call)


def promote(job: str, url: str, state: StateFrom) -> Equivalent:
    options = [] if state is StateFrom.PRESENT else ["--state", state.value]
    return Equivalent("Promote", _command("promote", job, *options), _post(url, f"/jobs/{quote(job)}/promote", {"state": state.value}))


def drop(job: str, url: str, *, with_savepoint: bool) -> Equivalent:
    options = [] if with_savepoint else ["--no-savepoint"]
    return Equivalent("Drop", _command("drop", job, *options), _post(url, f"/jobs/{quote(job)}/drop", {"savepoint": with_savepoint}))


def undrop(job: str, url: str) -> Equivalent:
    return Equivalent("Undrop", _command("undrop", job), _post(url, f"/jobs/{quote(job)}/undrop", {}))


def differences(a: str, b: str, url: str) -> Equivalent:
    query = urlencode({"a": a, "b": b})
    return Equivalent("What differs", _command("diff", a, b), f"curl {shlex.quote(f'{url}/api/v1/differences?{query}')}")


def sizes(url: str) -> Equivalent:
    return Equivalent("What they take on disk", _command("savepoints", "--sizes"), f"curl {url}/api/v1/space")


def _option(name: str, value: str | int | None) -> list[str]:
    return [] if value is None else [name, str(value)]


def _given(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


def _command(*parts: str) -> str:
    return f"python -m pipelines {shlex.join(parts)}"


def _post(url: str, path: str, body: Mapping[str, Any]) -> str:
    return _call("POST", url, path, body)


def _call(method: str, url: str, path: str, body: Mapping[str, Any]) -> str:
    said = shlex.quote(json.dumps(dict(body), ensure_ascii=False))
    return f"curl -X {method} {url}/api/v1{path} \\\n  -H 'content-type: application/json' -d {said}"
