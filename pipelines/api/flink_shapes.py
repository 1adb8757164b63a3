"""Values in the shapes of Flink's REST (`org.apache.flink.runtime.rest.messages`, 2.3). Pure.

A job's id is made of its name; a trigger's id holds that of the operation, or of the savepoint where that is there at once, so that both
outlive the server.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.jobs import JobSummary
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Savepoint

ID_BYTES = 16
STATES = {
    None: "CREATED",
    RunState.WANTED: "CREATED",
    RunState.STARTING: "INITIALIZING",
    RunState.RUNNING: "RUNNING",
    RunState.WATCHED: "RUNNING",
    RunState.STOPPING: "RUNNING",
    RunState.STOPPED: "FINISHED",
    RunState.FINISHED: "FINISHED",
    RunState.FAILED: "FAILED",
    RunState.RESTARTING: "RESTARTING",
}
"""States of a job's newest run in Flink's words (`JobStatus`)."""
TASKS = (
    *("total", "created", "scheduled", "deploying", "initializing", "running", "finished", "canceling", "canceled", "failed"),
    "reconciling",
)
STATUSES = (
    *("INITIALIZING", "CREATED", "RUNNING", "FAILING", "FAILED", "CANCELLING", "CANCELED", "FINISHED", "RESTARTING", "SUSPENDED"),
    "RECONCILING",
)
FORMATS = ("CANONICAL", "NATIVE")
"""Of a savepoint (`SavepointFormatType`). Here it has one; both are taken for it."""
SUMMED_UP = ("checkpointed_size", "state_size", "end_to_end_duration", "alignment_buffered", "processed_data", "persisted_data")
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
BEGUN = ("op-", "sp-")
"""How the id begins of what a trigger of a savepoint began."""
Json = dict[str, Any]


def job_id(job: str) -> str:
    """32 hex digits for a job, the same as long as it has its name."""
    return hashlib.sha256(job.encode()).hexdigest()[: 2 * ID_BYTES]


def trigger(about: str) -> str:
    """The id of a trigger: 32 hex digits that hold the id of what it has begun."""
    return about.encode().ljust(ID_BYTES, b"\0").hex()


def subject(request_id: str) -> str:
    """What a trigger's id holds; NotFound (`flink.no_trigger`) for one that nobody made."""
    try:
        return bytes.fromhex(request_id).rstrip(b"\0").decode()
    except ValueError as error:
        raise no_trigger(request_id) from error


def begun(request_id: str) -> str:
    """The operation or savepoint that a trigger began; NotFound (`flink.no_trigger`) for one that nobody made."""
    about = subject(request_id)
    if not about.startswith(BEGUN) or not about.isprintable():
        raise no_trigger(request_id)
    return about


def no_trigger(request_id: str) -> NotFound:
    """What is said of a trigger that there is not."""
    return NotFound("flink.no_trigger", f"There is no request {request_id}", "Trigger it again.")


def done(operation: Json) -> Json:
    """Of a trigger that has ended."""
    return {"status": {"id": "COMPLETED"}, "operation": operation}


def listed(summary: JobSummary) -> Json:
    """A job as a list of jobs has it; times in epoch ms, -1 for a run that has not ended."""
    run, state = summary.run, STATES[summary.state]
    begun_ms = (run.started_ms or run.created_ms) if run else summary.job.created_ms
    ended_ms = run.ended_ms if run and run.ended_ms else -1
    last_ms = max(begun_ms, ended_ms, summary.last_progress_ms or 0)
    tasks = {**dict.fromkeys(TASKS, 0), "total": summary.queries, "running": summary.queries if state == "RUNNING" else 0}
    times = {"start-time": begun_ms, "end-time": ended_ms, "duration": last_ms - begun_ms, "last-modification": last_ms}
    return {"jid": job_id(summary.job.name), "name": summary.job.name, "state": state, **times, "tasks": tasks, "pending-operators": 0}


def completed(savepoint: Savepoint) -> Json:
    """A savepoint as a completed checkpoint."""
    batch = max((image.batch for image in savepoint.queries), default=0)
    times = {"trigger_timestamp": savepoint.created_ms, "latest_ack_timestamp": savepoint.created_ms + round(savepoint.took_ms)}
    sizes = {"state_size": savepoint.bytes, "checkpointed_size": savepoint.new_bytes, "end_to_end_duration": round(savepoint.took_ms)}
    kind = {"checkpoint_type": "SAVEPOINT", "savepointFormat": "CANONICAL", "is_savepoint": True, "status": "COMPLETED"}
    subtasks = {"num_subtasks": len(savepoint.queries), "num_acknowledged_subtasks": len(savepoint.queries), "tasks": {}}
    place = {"external_path": savepoint.path, "discarded": False}
    aligned = {"alignment_buffered": 0, "processed_data": 0, "persisted_data": 0}
    return {"@class": "completed", "className": "completed", "id": batch, **kind, **times, **sizes, **subtasks, **aligned, **place}


def summed_up(checkpoints: Sequence[Json]) -> Json:
    """Least, greatest and average of the figures of completed checkpoints, and their quantiles; 0 where there are none."""
    return {name: _summed_up([checkpoint[name] for checkpoint in checkpoints] or [0]) for name in SUMMED_UP}


def _summed_up(values: Sequence[int]) -> Json:
    ordered = sorted(values)
    quantiles = {name: float(ordered[min(len(ordered) - 1, int(share * len(ordered)))]) for name, share in QUANTILES.items()}
    return {"min": ordered[0], "max": ordered[-1], "avg": sum(ordered) // len(ordered), **quantiles}


def timestamps(listed: Json) -> Json:
    """When a job that is listed so came into each state; 0 for those that it was not in, or of which nobody knows."""
    ended_ms = listed["end-time"]
    came_ms = {"RUNNING": listed["start-time"]} if listed["state"] != "CREATED" else {}
    now_ms = {listed["state"]: ended_ms if ended_ms >= 0 else listed["start-time"]}
    return {**dict.fromkeys(STATUSES, 0), "CREATED": listed["start-time"], **came_ms, **now_ms}


def check_format(given: Mapping[str, Any]) -> None:
    """Raises Invalid (`flink.format`) where a body names a format that Flink does not have."""
    value = given.get("formatType")
    if value is not None and value not in FORMATS:
        raise Invalid("flink.format", f"There is no format {value!r} of savepoints", f"Give one of {', '.join(FORMATS)}, or none.")


def no_body(why: str) -> Invalid:
    """What is said of a body that is no JSON object."""
    return Invalid("flink.body", f"The body cannot be read: {why}", "Send a JSON object.")


def counted(state: str) -> str:
    """The name under which jobs of an ended state are counted."""
    return "jobs-cancelled" if state == "CANCELED" else f"jobs-{state.lower()}"


def text(given: Mapping[str, Any], name: str) -> str:
    """A text of a body; empty where it has none, or null."""
    value = given.get(name)
    return value if isinstance(value, str) else ""
