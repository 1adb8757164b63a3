"""What a job brings with it as another user: its packages are installed as that user, and a bisection's script judges as that user."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.domain.errors import Invalid, Unavailable
from pipelines.domain.runs import QUERIES_FILE, RunState
from pipelines.storage import keys, users
from pipelines.verbs.bisect import Bisect
from pipelines.verbs.face import do
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from pipelines.workspace import environments, run_as, versions
from tests import wheels
from tests.other_user import NAME, passable
from tests.savepoint.golden import lay_checkpoint, lay_output
from tests.workspace.conftest import CODE, NEWEST, House, query_line
from tests.workspace.test_bisections import as_csv, as_of
from tests.workspace.test_environments import CARRIED, carried, requirements
from tests.workspace.test_run_as_exact import python_of

JUDGE = f"""
import getpass, os, pathlib, sys
assert getpass.getuser() == {NAME!r} and "TIDEMARK_TOKEN" not in os.environ
assert all(path.read_bytes() for path in pathlib.Path(sys.argv[-1], "output").rglob("*.parquet"))
sys.exit(int(os.environ["TIDEMARK_BATCH"]) >= 11)
"""


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """One that the other user gets to, as it does to this process's Python; empty where code may not be another user's."""
    with passable() as folder:
        python = python_of(folder)
        if python:
            monkeypatch.setattr(sys, "executable", python)
            monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path.endswith("-packages")))
            monkeypatch.setenv("TIDEMARK_TOKEN", "secret")
            users.assume(users.Other(users.named(NAME), folder / "ws"))
        yield folder if python else Path()


def test_packages_are_installed_by_the_user_and_belong_to_the_server(folder: Path) -> None:
    if folder == Path():
        return
    house = House(folder / "ws")
    run = do(house.face, RunScript(name="a", script="job.py", code=CODE, requirements=CARRIED, files=carried("1.0")))
    version = environments.entered(house.face.context, versions.get(house.face.context, run.version))
    place = Path(version.python).parents[1]
    assert {path.lstat().st_uid for path in (place, *place.rglob("*"))} == {os.getuid()}
    told = [version.python, "-I", "-c", "import getpass, tiny; print(getpass.getuser(), tiny.NUMBER)"]
    assert subprocess.check_output(told, text=True, cwd="/", env={}, **users.switch()) == f"{NAME} 1.0\n"
    wheels.lay(folder / "wheels", "tiny", "1.0")
    (folder / "wheels").chmod(0o700)
    with pytest.raises(Invalid) as refused:
        do(house.face, RunScript(name="b", script="job.py", code=CODE, requirements=requirements(folder / "wheels", "tiny")))
    assert refused.value.code == "environment.closed" and f"{NAME} installs it" in refused.value.hint
    house.face.close()


def test_a_large_file_comes_to_a_job_where_the_user_can_read_it(folder: Path) -> None:
    """The server can read its own key, and every other user's files; neither their content nor their hash is for who names them."""
    if folder == Path():
        return
    house, model = House(folder / "ws"), folder / "model.bin"
    model.write_bytes(b"weights")
    keys.kept_key(house.face.layout.key_file)
    for path in (house.face.layout.key_file, model):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        for named in (digest, "0" * 64):
            path.chmod(0o600)
            with pytest.raises(Unavailable, match="permission denied") as refused:
                do(house.face, RunScript(name="a", script="job.py", code=CODE, outside={str(path): named}))
            assert digest not in f"{refused.value.message} {refused.value.hint}"
    model.chmod(0o644)
    do(house.face, RunScript(name="a", script="job.py", code=CODE, outside={str(model): digest}))
    assert (house.face.layout.large_files / digest / model.name).read_bytes() == b"weights"
    house.face.close()


def test_the_judges_of_a_bisection_read_the_rows_as_that_user(folder: Path) -> None:
    if folder == Path():
        return
    house = House(folder / "ws")
    run = house.begin()
    checkpoint, sink = Path(run.checkpoints) / "counts", house.face.layout.output(run.job) / "counts"
    lay_checkpoint("rocksdb_format2", checkpoint)
    lay_output("rocksdb_format2", sink)
    house.append(run, QUERIES_FILE, as_csv(query_line(str(checkpoint), str(sink)), sink))
    house.see(run, RunState.STOPPED)
    good, bad = do(house.face, Take("a", 9)).id, do(house.face, Take("a", NEWEST)).id
    bisection = do(house.face, Bisect(job="a", good=good, bad=bad, script=JUDGE))
    assert (bisection.right, bisection.wrong) == (10, 11)
    rows = {batch: as_of(str(sink), batch) for batch in range(9, NEWEST + 1)}
    by_sql = do(house.face, Bisect(job="a", good=good, bad=bad, sql=f"SELECT count(*) AS n FROM output HAVING n >= {rows[NEWEST]}"))
    assert by_sql.wrong == next(batch for batch, written in rows.items() if written == rows[NEWEST])
    assert not list(house.face.layout.sandbox.glob("*"))
    house.face.close()


def test_a_job_on_another_disk_is_the_users_there_and_its_savepoints_are_the_servers(folder: Path) -> None:
    if folder == Path():
        return
    house, home = House(folder / "ws"), folder / "disk" / "jobs"
    run = do(house.face, RunScript(name="a", script="job.py", code=CODE, home=str(home)))
    spec = house.face.context.files.spec(run.job, run.id)
    lay_checkpoint("rocksdb_format2", Path(run.checkpoints) / "counts")
    lay_output("rocksdb_format2", Path(spec.output) / "counts")
    house.append(run, QUERIES_FILE, query_line(f"{run.checkpoints}/counts", f"{spec.output}/counts"))
    run_as.prepare(house.face.context, house.folder(run))
    house.see(run, RunState.STOPPED)
    look = f"import os; os.stat({spec.mark!r}); open({spec.checkpoints!r} + '/counts/metadata').read(); open({spec.output!r} + '/new', 'w')"
    subprocess.run([sys.executable, "-c", look], check=True, cwd="/", **users.switch())
    taken = Path(do(house.face, Take("a")).path)
    seen = {path.lstat().st_uid for path in (taken, *taken.rglob("*"))}
    assert taken.parent == home and seen == {os.getuid()}
    reads = f"import os; os.listdir({str(taken)!r})"
    assert subprocess.run([sys.executable, "-c", reads], cwd="/", capture_output=True, **users.switch()).returncode
    house.face.close()
