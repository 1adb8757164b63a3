"""Files of each format on each storage with `cleanSource`: what goes on from a savepoint has the rows of a run that nobody touched, and
nothing begins without the files that were taken away since. In S3 and HDFS a fork goes on at another time, too."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from pipelines.domain.holdings import Usable
from pipelines.domain.runs import RunState
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Storage
from pipelines.verbs.experiments import Compare
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.holdings import AskHoldings
from pipelines.verbs.jobs import ReadLog
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from tests import s3_connector
from tests.waiting import until
from tests.workspace import test_source_moves_exact as moves
from tests.workspace.proving import CONF
from tests.workspace.serving import Server, serving

pytestmark = [
    pytest.mark.long,
    pytest.mark.spark,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(bool(s3_connector.missing()), reason=s3_connector.missing()),
]

CODE = """
import sys
from pyspark.sql import SparkSession

place, form, clean, output = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
options = {"maxFilesPerTrigger": 1, "cleanSource": clean, "sourceArchiveDir": f"{place}-archived"}
reader = spark.readStream.options(**options)
if form == "text":
    rows = reader.text(f"{place}/in").selectExpr("CAST(value AS BIGINT) AS n")
else:
    rows = reader.schema("n BIGINT").format(form).load(f"{place}/in")
query = rows.dropDuplicates(["n"]).writeStream.queryName("rows").format("parquet").trigger(availableNow=True).start(output)
query.awaitTermination()
"""
FIRST, FILES = 3, 7
"""Files before the savepoint, and all; one a batch."""
CASES = [
    ("disk", "text", "archive"),
    ("s3", "csv", "delete"),
    ("s3", "text", "archive"),
    ("hdfs", "json", "delete"),
    ("hdfs", "parquet", "archive"),
]


def numbers(file: int) -> range:
    """Half of what a file has was in the one before it: without state it would come again."""
    return range(file * 5, file * 5 + 10)


def encoded(form: str, file: int) -> bytes:
    if form == "parquet":
        written = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table({"n": list(numbers(file))}), written)
        return written.getvalue()
    return "".join(f"{json.dumps({'n': n}) if form == 'json' else n}\n" for n in numbers(file)).encode()


def lay(place: str, form: str, files: range) -> None:
    """Into the job's folder, and into that of the run that nobody touches."""
    for storage in (open_storage(place), open_storage(f"{place}-whole")):
        for file in files:
            storage.write(f"in/{file}.data", encoded(form, file))


def left(place: str) -> set[str]:
    return {entry.path.rpartition("/")[2] for entry in open_storage(place).list("in")}


def finished(server: Server, job: str) -> None:
    until(lambda: not server.newest(job).state.live, 400)
    assert server.newest(job).state is RunState.FINISHED, server.face.ask(ReadLog(job)).text


def assert_same(server: Server, a: str, b: str) -> None:
    compared = server.face.ask(Compare(a, b))
    assert (compared.equal, compared.only_a, compared.only_b, compared.changed) == (FILES * 5 + 5, 0, 0, 0), compared


@pytest.fixture
def server(kept_jvms: None, tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "ws") as server:
        yield server


@pytest.mark.parametrize(("kind", "form", "clean"), CASES)
def test_forks_and_resumes_have_all_rows_or_do_not_begin(
    kind: str, form: str, clean: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = tmp_path.as_posix() if kind == "disk" else request.getfixturevalue(f"{kind}_url")
    server: Server = request.getfixturevalue("server")
    face, storage = server.face, f"{url}/files"
    place = storage.replace("s3://", "s3a://")
    conf = {**CONF, **(s3_connector.conf() if kind == "s3" else {})}
    lay(storage, form, range(FIRST))
    do(face, RunScript(name="a", script="a.py", code=CODE, args=(place, form, clean, "{output}"), conf=conf))
    finished(server, "a")
    taken = do(face, Take("a"))
    lay(storage, form, range(FIRST, FILES))
    do(face, RunScript(name="whole", script="a.py", code=CODE, args=(f"{place}-whole", form, "off", "{output}"), conf=conf))
    do(face, Fork(taken.id, name="b", args=(place, form, "off", "{output}")))
    finished(server, "whole")
    finished(server, "b")
    assert_same(server, "whole", "b")
    do(face, Resume("a"))
    finished(server, "a")
    assert_same(server, "whole", "a")
    gone = {f"{file}.data" for file in range(FIRST, FILES)} - left(storage)
    asked = do(face, AskHoldings(taken.id)).holdings
    assert gone and asked is not None and asked.usable is Usable.NO
    assert {path.rpartition("/")[2] for path in asked.sources[0].gaps} == gone
    refused = face.plan(Fork(taken.id, name="c")).refusal
    assert refused is not None and refused.code == "source.gone" and f"{len(gone)} of the {FILES - FIRST} files" in refused.message


@pytest.mark.parametrize("kind", ["s3", "hdfs"])
def test_files_are_skipped_and_read_again(kind: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue("server")
    face, storage = server.face, open_storage(url := f"{request.getfixturevalue(f'{kind}_url')}/moved")
    conf = {**CONF, **(s3_connector.conf() if kind == "s3" else {})}

    def put(*files: int) -> None:
        for file in files:
            put_later(storage, file)

    put(0, 1, 2)
    place = f"{url.replace('s3://', 's3a://')}/in"
    do(face, RunScript(name="main", script="counts.py", code=moves.CODE, args=(place, "{output}"), conf=conf))
    has(server, "main", moves.files(range(3)))
    commits = [Path(server.newest("main").checkpoints) / query / "commits" / "2" for query in moves.QUERIES]
    until(lambda: all(commit.is_file() for commit in commits))
    taken = do(face, Take("main"))
    put(3, 4, 5)
    has(server, "main", moves.files(range(6)))
    expected = {
        "skips": (changed(storage, 4), (1, 0), dict.fromkeys(("f4", "f5", "f6"), 1)),
        "again": (changed(storage, 1), (0, 2), moves.files(range(3, 7), range(1, 3))),
        "newest": ("latest", (3, 0), {"f6": 1}),
    }
    for name, (position, amounts, _) in expected.items():
        fork = Fork(taken.id, name=name, offsets={f"{query}.0": position for query in moves.QUERIES})
        moved = face.plan(fork).moved
        assert [(move.skipped, move.again, move.unit) for move in moved] == [(*amounts, "files")] * len(moves.QUERIES), moved
        do(face, fork)
    put(6)
    for name, (*_, counted) in expected.items():
        has(server, name, counted)


def has(server: Server, job: str, counted: dict[str, int]) -> None:
    until(lambda: moves.totals(server, job) == moves.by_all(counted), 400, what=f"{job} with {counted}")


def put_later(storage: Storage, file: int) -> None:
    """Names itself three times, and is newer than every other; S3 tells whole seconds."""
    others = [entry.modified_ms for entry in storage.list("in")]

    def is_newer() -> bool:
        storage.write(at := name(file), f"{json.dumps({'file': f'f{file}'})}\n".encode() * 3)
        return all(at_ms < modified_ms(storage, at) for at_ms in others)

    until(is_newer)


def name(file: int) -> str:
    return f"in/day=a b (ä) #1/{file}.json"


def modified_ms(storage: Storage, path: str) -> int:
    return next(entry.modified_ms for entry in storage.list("in") if entry.path == path)


def changed(storage: Storage, file: int) -> str:
    return datetime.fromtimestamp(modified_ms(storage, name(file)) / 1_000, UTC).isoformat(timespec="milliseconds")
