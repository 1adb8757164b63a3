"""Files of each format on each storage with `cleanSource`: what goes on from a savepoint has the rows of a run that nobody touched, and
nothing begins without the files that were taken away since."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from pipelines.domain.holdings import Usable
from pipelines.domain.runs import RunState
from pipelines.storage.addresses import open_storage
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
