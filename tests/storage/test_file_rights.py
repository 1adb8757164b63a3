"""What a job's code names is opened with the rights of the user that runs it: names lead by links to what only the server may read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from pipelines.catalog import judging, outputs
from pipelines.catalog.connection import scratch
from pipelines.catalog.judging import Rows
from pipelines.domain.errors import Unavailable
from pipelines.storage import file_rights
from tests import other_user
from tests.storage.test_handover import can, nobody

READ = 'cat "$1"'


@pytest.fixture
def workspace() -> Iterator[Path]:
    with other_user.workspace() as root:
        yield root


def opens(path: Path) -> bool:
    try:
        path.read_bytes()
    except PermissionError:
        return False
    return True


def secret_in(workspace: Path) -> Path:
    """A file of the server's alone, behind folders that everybody gets through."""
    workspace.chmod(0o711)
    path = workspace / "access.key"
    path.write_text("secret")
    path.chmod(0o600)
    return path


def rows_in(path: Path, value: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with scratch() as db:
        db.execute(f"COPY (SELECT {value} AS n) TO '{path.parent.parent / 'made'}' (FORMAT parquet)")
    (path.parent.parent / "made").rename(path)


def test_a_thread_opens_files_as_the_user_for_a_while_and_others_do_not(workspace: Path) -> None:
    secret, user = secret_in(workspace), nobody(workspace)
    groups, asked, answered = os.getgroups(), Event(), Event()
    seen: dict[str, bool] = {}

    def of_before() -> None:
        asked.wait(60)
        seen["a thread from before"] = opens(secret)
        answered.set()

    before = Thread(target=of_before)
    before.start()
    with file_rights.of_job():
        seen["itself"] = opens(secret)
        inside = Thread(target=lambda: seen.update({"a thread of its": opens(secret)}))
        inside.start()
        inside.join()
        asked.set()
        answered.wait(60)
        own = os.getgroups()
        with file_rights.of_job():
            pass
        seen["itself, after one within"] = opens(secret)
    before.join()
    is_other = user is not None
    expected = {"itself": not is_other, "a thread of its": not is_other, "itself, after one within": not is_other}
    assert seen == {**expected, "a thread from before": True} and opens(secret)
    assert os.getgroups() == groups and (user is None or sorted(own) == sorted(user.groups))


def test_rows_of_jobs_are_let_read_but_nothing_that_a_link_leads_to(workspace: Path) -> None:
    secret, user = secret_in(workspace), nobody(workspace)
    output = workspace / "jobs" / "a" / "output"
    (output / "day=1").mkdir(parents=True)
    (workspace / "jobs").chmod(0o700)
    written = output / "day=1" / "rows.parquet"
    written.write_text("rows")
    written.chmod(0o600)
    (output / "link").symlink_to(secret)
    (output / "folder").symlink_to(workspace)
    named = [written, output / "link", output / "folder" / secret.name, secret, output / "gone", output / ".." / ".." / ".." / secret.name]
    file_rights.let_read_rows(map(str, named))
    if user is not None:
        assert [can(user, READ, path) for path in named] == [True, *[False] * 5]
    assert secret.stat().st_gid == os.getgid() and secret.stat().st_mode & 0o777 == 0o600


def test_outputs_are_read_as_the_user_alone(workspace: Path) -> None:
    """A log that names a file of the server's, or a link to one, shows none of its rows."""
    rows_in(workspace / "server" / "rows.parquet", 7)
    (workspace / "server" / "rows.parquet").chmod(0o600)
    rows_in(workspace / "jobs" / "a" / "output" / "rows.parquet", 7)
    (workspace / "jobs" / "a" / "output" / "rows.parquet").chmod(0o600)
    own, other = (str(workspace / name / "rows.parquet") for name in ("jobs/a/output", "server"))
    link = str(workspace / "jobs" / "a" / "output" / "link.parquet")
    os.symlink(other, link)
    workspace.chmod(0o711)
    user = nobody(workspace)
    assert outputs.compare([own], [own]).equal == 1
    (workspace / "judged").mkdir(mode=0o777)
    (workspace / "judged").chmod(0o777)
    judged = str(workspace / "judged" / "rows.parquet")
    assert judging.judge(judging.as_parquet(Rows("output", "parquet", (own,)), judged), "SELECT n FROM output", 9).rows == ((7,),)
    for named in (other, link):
        if user is None:
            assert outputs.compare([own], [named]).equal == 1
            continue
        with pytest.raises(Unavailable, match="cannot be read as the user nobody") as refused:
            outputs.compare([own], [named])
        assert refused.value.code == "compare.denied"
        with pytest.raises(Unavailable):
            judging.as_parquet(Rows("output", "parquet", (named,)), judged)
