"""What a page does, said as a command and as a REST call, to copy. Pure text."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote


@dataclass(frozen=True)
class Equivalent:
    """One action: what it does in a word or two, its command, its REST call."""

    title: str
    command: str
    call: str


def savepoint(job: str, url: str, *, batch: int | None = None, label: str = "") -> Equivalent:
    options = [*(["--batch", str(batch)] if batch is not None else []), *(["--label", label] if label else [])]
    body = {**({"batch": batch} if batch is not None else {}), **({"label": label} if label else {})}
    return Equivalent("Take a savepoint", _command("savepoint", job, *options), _post(url, f"/jobs/{quote(job)}/savepoints", body))


def stop(job: str, url: str, *, with_savepoint: bool = True, label: str = "") -> Equivalent:
    options = [*([] if with_savepoint else ["--no-savepoint"]), *(["--label", label] if label else [])]
    body = {"savepoint": with_savepoint, **({"label": label} if label else {})}
    return Equivalent("Stop at a batch boundary", _command("stop", job, *options), _post(url, f"/jobs/{quote(job)}/stop", body))


def cancel(job: str, url: str) -> Equivalent:
    return Equivalent("Cancel at once", _command("cancel", job), _post(url, f"/jobs/{quote(job)}/stop", {"at_once": True}))


def resume(job: str, url: str, *, from_savepoint: str = "") -> Equivalent:
    options = ["--from", from_savepoint] if from_savepoint else []
    body = {"from_savepoint": from_savepoint} if from_savepoint else {}
    return Equivalent("Resume", _command("resume", job, *options), _post(url, f"/jobs/{quote(job)}/resume", body))


def forget(job: str, url: str) -> Equivalent:
    return Equivalent("Forget", _command("forget", job), f"curl -X DELETE {shlex.quote(f'{url}/api/v1/jobs/{quote(job)}')}")


def run(script: str, url: str, *, name: str, args: tuple[str, ...], conf: Mapping[str, str], master: str) -> Equivalent:
    """The command takes the script from a file; REST takes its text, here left for the caller to fill in."""
    options = ["--name", name] if name else []
    options += [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    options += ["--master", master] if master != "local[2]" else []
    options += ["--", *args] if args else []
    body = {"name": name, "script": script, "code": "…", "args": list(args), "conf": dict(conf), "master": master}
    return Equivalent("Start", _command("run", script or "SCRIPT.py", *options), _post(url, "/jobs", body))


def _command(*parts: str) -> str:
    return f"python -m pipelines {shlex.join(parts)}"


def _post(url: str, path: str, body: Mapping[str, Any]) -> str:
    said = shlex.quote(json.dumps(dict(body), ensure_ascii=False))
    return f"curl -X POST {url}/api/v1{path} \\\n  -H 'content-type: application/json' -d {said}"
