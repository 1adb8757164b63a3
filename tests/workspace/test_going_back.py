"""A job that writes to SQLite by `foreachBatch` goes back to a batch with other code: rows of later batches are cut and done again.
`tests/long/test_going_back.py` has PostgreSQL and DuckDB, an upgrade, a rollback and a fork."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.verbs.face import do
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from tests.jobs.loading import JOBS
from tests.jobs.test_exactly_once import table
from tests.long.test_going_back import BACK, CODE, FILES, UPGRADED, finished, lay, sums
from tests.workspace.proving import CONF
from tests.workspace.serving import Server, serving

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("kept_jvms")]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "ws") as server:
        yield server


def test_a_table_in_sqlite_goes_back_with_its_job(server: Server, tmp_path: Path) -> None:
    place, events = f"sqlite:{tmp_path}/a.sqlite", tmp_path / "events"
    helper = {"exactly_once.py": (JOBS / "exactly_once.py").read_text()}
    args = (str(events), place, place, place, "main")
    code = CODE.replace("in places:", "in places[:1]:")
    lay(events, range(FILES))
    do(server.face, RunScript(name="main", script="a.py", code=code, files=helper, args=args, conf=CONF))
    finished(server, "main")
    assert table(place, "main", "sums") == sums()
    changed = UPGRADED.replace("in places:", "in places[:1]:")
    do(server.face, Resume("main", batch={"sqlite": BACK}, code=changed, script="a.py", force=True))
    finished(server, "main")
    assert table(place, "main", "sums") == sums(upgraded=range(BACK + 1, FILES))
