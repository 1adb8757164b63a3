from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest

from pipelines.catalog import events, file_positions, jobs, progress, rebuild
from pipelines.catalog.connection import Catalog, Kept, Reader
from pipelines.catalog.opening import open_catalog
from pipelines.domain.errors import Corrupt, Unavailable, Unsupported
from pipelines.domain.jobs import Event
from tests.catalog.making import batch, job

_HOLD = """
import sys
from pathlib import Path
from pipelines.catalog.opening import open_catalog
catalog = open_catalog(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.read()
"""

_WRITE_FOREVER = """
import itertools, sys
from pathlib import Path
from pipelines.catalog import file_positions, progress
from pipelines.catalog.opening import open_catalog
from tests.catalog.making import batch
catalog = open_catalog(Path(sys.argv[1]))
for n in itertools.count():
    with catalog.writing() as writer:
        progress.append(writer, [batch(n * 10 + i, n * 10 + i) for i in range(10)])
        file_positions.advance(writer, {"progress.jsonl": n + 1})
    print(n + 1, flush=True)
"""


def _start(script: str, path: Path) -> subprocess.Popen[str]:
    root = Path(__file__).parents[2]
    return subprocess.Popen([sys.executable, "-c", script, str(path)], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_file_open_in_another_process_is_refused_naming_it(tmp_path: Path) -> None:
    path = tmp_path / "catalog.duckdb"
    with _start(_HOLD, path) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(Unavailable) as refused:
            open_catalog(path)
        with pytest.raises(Unavailable):
            rebuild.reopen(path)
        holder.kill()
    assert refused.value.code == "catalog.locked"
    assert str(holder.pid) in refused.value.message
    assert "--standby" in refused.value.hint
    open_catalog(path).close()


@pytest.mark.parametrize("content", [b"not a database" * 500, b"x"])
def test_a_file_that_is_no_database_is_damaged_until_rebuilt(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "catalog.duckdb"
    path.write_bytes(content)
    with pytest.raises(Corrupt) as refused:
        open_catalog(path)
    assert refused.value.code == "catalog.damaged"
    assert "catalog rebuild" in refused.value.hint
    assert path.read_bytes() == content
    rebuild.reopen(path).close()
    open_catalog(path).close()


def test_flipped_bytes_never_give_another_kind_of_error(tmp_path: Path) -> None:
    path = tmp_path / "catalog.duckdb"
    catalog = open_catalog(path)
    with catalog.writing() as writer:
        progress.append(writer, [batch(n, n) for n in range(3000)])
    catalog.close()
    whole, refusals = path.read_bytes(), 0
    for at in range(0, len(whole), max(1, len(whole) // 16)):
        path.write_bytes(whole[:at] + bytes(255 - b for b in whole[at : at + 64]) + whole[at + 64 :])
        try:
            opened = open_catalog(path)
        except (Corrupt, Unsupported):
            refusals += 1
            continue
        try:
            with opened.reading() as reader:
                assert rebuild.counts(reader)["progress"] == 3000
                reader.execute("SELECT * FROM progress").fetchall()
        except Corrupt as error:
            refusals += 1
            assert error.code == "catalog.damaged"
        finally:
            opened.close()
    assert refusals > 0


def test_a_folder_in_its_place_is_unreachable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as refused:
        open_catalog(tmp_path)
    assert refused.value.code == "catalog.unreachable"


def test_a_newer_schema_is_refused_until_rebuilt(tmp_path: Path) -> None:
    path = tmp_path / "catalog.duckdb"
    catalog = open_catalog(path)
    with catalog.writing() as writer:
        writer.execute("UPDATE catalog_format SET version = 999")
    catalog.close()
    with pytest.raises(Unsupported) as refused:
        open_catalog(path)
    assert refused.value.code == "catalog.newer"
    rebuild.reopen(path).close()


def test_settings(catalog: Catalog) -> None:
    with catalog.reading() as reader:
        settings = dict(reader.execute("SELECT name, value FROM duckdb_settings()").fetchall())
    assert settings["threads"] == "1"
    assert settings["autoload_known_extensions"] == settings["autoinstall_known_extensions"] == "false"
    assert settings["storage_compatibility_version"] == "v1.5.0"


def test_reading_cannot_write(catalog: Catalog) -> None:
    with pytest.raises(duckdb.TransactionException), catalog.reading() as reader:
        jobs.save(reader, [job("a")])  # type: ignore[arg-type]


def test_what_raises_is_rolled_back_and_the_next_writer_goes_on(catalog: Catalog) -> None:
    with pytest.raises(ZeroDivisionError), catalog.writing() as writer:
        progress.append(writer, [batch(1, 1)])
        file_positions.advance(writer, {"progress.jsonl": 100})
        raise ZeroDivisionError
    with catalog.writing() as writer:
        progress.append(writer, [batch(2, 2)])
    with catalog.reading() as reader:
        assert file_positions.positions(reader) == {}
        assert rebuild.counts(reader)["progress"] == 1


def test_what_is_kept_is_read_anew_after_each_change_but_not_for_figures(catalog: Catalog) -> None:
    read: list[int] = []

    def names(reader: Reader) -> list[str]:
        read.append(1)
        return [listed.name for listed in jobs.listed(reader)]

    kept = Kept(catalog, names)
    assert [kept.now(), kept.now(), len(read)] == [[], [], 1]
    with catalog.writing() as writer:
        jobs.save(writer, [job("a")])
    assert [kept.now(), kept.now(), len(read)] == [["a"], ["a"], 2]
    with catalog.writing(only_figures=True) as writer:
        progress.append(writer, [batch(1, 1)])
    with pytest.raises(ZeroDivisionError), catalog.writing() as writer:
        jobs.save(writer, [job("b")])
        raise ZeroDivisionError
    assert [kept.now(), len(read)] == [["a"], 2]


def test_a_closed_catalog_says_so(tmp_path: Path) -> None:
    catalog = open_catalog(tmp_path / "catalog.duckdb")
    catalog.close()
    with pytest.raises(Unavailable) as refused, catalog.reading():
        pass
    assert refused.value.code == "catalog.closed"


def test_readers_see_whole_transactions_and_their_own_rows_while_writers_write(catalog: Catalog) -> None:
    """Each transaction adds five events and one progress row of each job: any other ratio seen is a torn read."""
    writers, rounds = 2, 10
    done, failures = threading.Event(), []

    def write(name: str) -> None:
        for n in range(rounds):
            with catalog.writing() as writer:
                events.append(writer, [Event(n, "test", None, f"{name}-{i}", "") for i in range(5)])
                progress.append(writer, [batch(n, n, query=name, query_id=name)])

    def read(mine: int) -> None:
        try:
            while not done.is_set():
                with catalog.reading() as reader:
                    row = reader.execute("SELECT ?, count(*) FROM events", [mine]).fetchone()
                    counts = rebuild.counts(reader)
                assert row is not None
                assert row[0] == mine
                assert row[1] == counts["events"] == 5 * counts["progress"]
        except BaseException as error:
            failures.append(error)
            raise

    readers = [threading.Thread(target=read, args=(n,)) for n in range(4)]
    busy = [threading.Thread(target=write, args=(f"w{n}",)) for n in range(writers)]
    for thread in (*readers, *busy):
        thread.start()
    for thread in busy:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()
    assert failures == []
    with catalog.reading() as reader:
        assert rebuild.counts(reader)["progress"] == writers * rounds


def test_after_kill_9_while_writing_every_acknowledged_transaction_is_there_whole(tmp_path: Path) -> None:
    path = tmp_path / "catalog.duckdb"
    with _start(_WRITE_FOREVER, path) as writing:
        assert writing.stdout is not None
        acknowledged = 0
        while acknowledged < 15:
            acknowledged = int(writing.stdout.readline())
        os.kill(writing.pid, signal.SIGKILL)
        writing.wait()
        acknowledged = max([acknowledged, *map(int, writing.stdout.read().split())])
    catalog = open_catalog(path)
    with catalog.reading() as reader:
        consumed = file_positions.positions(reader).get("progress.jsonl", 0)
        assert consumed >= acknowledged
        assert rebuild.counts(reader)["progress"] == consumed * 10
    catalog.close()
