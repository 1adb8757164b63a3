"""What cannot be done on a Connect server is refused before anything is asked of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.domain.errors import Unsupported
from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.lockstep import Lead
from pipelines.domain.run_specs import SPEC_FORMAT, RunSpec
from pipelines.driver.connect.queries import LATE, TRIES, ConnectQueries, launched
from pipelines.driver.intercept import Asked
from pipelines.driver.records import Records
from pipelines.driver.rehearsal import Rehearsal
from pipelines.driver.warehouse import Warehouse


def refusal(tmp_path: Path, asked: Asked, **changes: Any) -> str:
    """The code with which a start is refused; its writer has no session to be asked."""
    spec = RunSpec(SPEC_FORMAT, RunId("r-1"), JobName("job"), VersionId("v-1"), "", (), {}, "", str(tmp_path), "")
    spec, records = replace(spec, **changes), Records(tmp_path, lambda: 1)
    rehearsal = Rehearsal(spec, records, lambda: None) if spec.rehearsal else None
    queries = ConnectQueries(spec, records, lambda: None, Warehouse(spec), rehearsal)
    with pytest.raises(Unsupported) as refused:
        queries.start_connected(SimpleNamespace(_session=None), asked, lambda: pytest.fail("it started"))
    assert refused.value.hint
    assert not list(tmp_path.iterdir())
    return refused.value.code


@pytest.mark.parametrize(
    ("asked", "changes", "code"),
    [
        (Asked(format="parquet"), {"rehearsal": "/scratch"}, "connect.rehearsal"),
        (Asked(format="parquet"), {"lead": Lead(JobName("leader"), "")}, "connect.lock_step"),
        (Asked(format="parquet"), {"checkpoints": "s3a://bucket/a"}, "connect.home"),
        (Asked(format="parquet", table="t"), {}, "connect.sink"),
        (Asked(format="delta"), {}, "connect.sink"),
    ],
)
def test_refusals(tmp_path: Path, asked: Asked, changes: dict[str, Any], code: str) -> None:
    assert refusal(tmp_path, asked, **changes) == code


def test_a_start_whose_python_was_late_is_asked_again() -> None:
    class Server:
        def __init__(self, *answers: str) -> None:
            self.answers = list(answers)

        def launch(self) -> str:
            answer = self.answers.pop(0)
            if answer != "query":
                raise RuntimeError(answer)
            return answer

    late = f"{LATE}.\n\nJVM stacktrace: …"
    assert launched(Server(late, late, "query").launch) == "query"
    for server, left in ((Server("no such table", "query"), 1), (Server(*[late] * TRIES, "query"), 1)):
        with pytest.raises(RuntimeError):
            launched(server.launch)
        assert len(server.answers) == left
