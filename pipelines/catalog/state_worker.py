"""Questions to a reading of state, asked in a process of its own: somebody's SQL can take all the time and memory that there is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pipelines.catalog import judging, states
from pipelines.catalog.judging import Rows
from pipelines.domain.states import StateColumn, StateRows
from pipelines.verbs.state import QueryState
from pipelines.verbs.state_difference import QueryStateDifference
from pipelines.workers.child import Caller, serve
from pipelines.workers.pool import Pool
from pipelines.workers.task import Task

TASK = Task(
    module="pipelines.catalog.state_worker",
    code="state",
    title="The question",
    hint="Ask for fewer rows or shorter values, or aggregate in fewer steps.",
    seconds=states.SECONDS + 5,
)
"""Its process mostly ends a long question by itself; what it cannot interrupt is ended with it."""


KINDS = {kind.__name__: kind for kind in (QueryState, QueryStateDifference)}


def query(pool: Pool, views: states.Views, asked: states.Asks) -> StateRows:
    """The answer to `asked` over Parquet files by view. Raises what `states.query` raises, and Unavailable (`state.timeout`,
    `state.memory`, `state.too_large`) for a question that takes more than it may."""
    asks = {"views": {view: list(files) for view, files in views.items()}, "kind": type(asked).__name__, "asked": asdict(asked)}
    return _told(pool.do(asks))


def judge(pool: Pool, rows: Rows, sql: str, limit: int) -> StateRows:
    """The rows that a judge's `sql` gives. Raises what `judging.judge` raises, and what `query` raises of a process."""
    return _told(pool.do({"judged": asdict(rows), "sql": sql, "limit": limit}))


def _told(answer: dict[str, Any]) -> StateRows:
    columns = tuple(StateColumn(**column) for column in answer.pop("columns"))
    return StateRows(columns=columns, rows=tuple(map(tuple, answer.pop("rows"))), **answer)


def _query(request: dict[str, Any], _: Caller) -> dict[str, Any]:
    if "judged" in request:
        answer = judging.judge(Rows(**request["judged"]), request["sql"], request["limit"])
    else:
        answer = states.query(request["views"], KINDS[request["kind"]](**request["asked"]))
    columns = [asdict(column) for column in answer.columns]
    return {"columns": columns, "rows": answer.rows, "matches": answer.matches, "more": answer.more, "took_ms": answer.took_ms}


if __name__ == "__main__":
    serve(_query)
