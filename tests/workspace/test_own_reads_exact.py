"""A job whose queries read the files and the table that others of them write: nothing is read twice in a fork, or after going back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.catalog import runs as run_rows
from pipelines.domain.errors import Conflict, Unsupported
from pipelines.domain.migrations import COLUMNS
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.verbs.experiments import Compare
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.system import ListEvents
from pipelines.verbs.take import Take
from pipelines.verbs.try_code import TryCode
from pipelines.verbs.verify import Verify
from tests.waiting import until
from tests.workspace.serving import Server, serving

pytestmark = pytest.mark.spark

CODE = """
import os, sys
from pyspark.sql import SparkSession, functions as F

events, output = sys.argv[1:]
spark = SparkSession.builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
often = {"processingTime": "200 milliseconds"}
kinds = "key STRING, n LONG"
spark.sql(f"CREATE TABLE IF NOT EXISTS raw ({kinds}) USING parquet")
rows = spark.readStream.schema(kinds).option("maxFilesPerTrigger", 1).json(events)
rows.writeStream.queryName("bronze").trigger(**often).partitionBy("key").start(f"{output}/erz 1", format="parquet")
rows.writeStream.queryName("raw").trigger(**often).toTable("raw")
os.makedirs(f"{output}/erz 1", exist_ok=True)
again = spark.readStream.schema(kinds).option("maxFilesPerTrigger", 2).parquet(f"{output}/erz 1")
again.selectExpr("n", "key AS of").writeStream.queryName("silver").trigger(**often).start(f"{output}/silver", format="json")
table = spark.readStream.option("maxFilesPerTrigger", 1).table("raw").selectExpr("n * 2 AS twice", "key")
table.writeStream.queryName("gold").trigger(**often).start("gold", format="parquet")
spark.streams.awaitAnyTermination()
"""
WRITERS = "".join(CODE.splitlines(keepends=True)[10:12])
"""Its lines, after which a reader's begin."""
SWAPPED = CODE.replace(WRITERS, "").replace("spark.streams", WRITERS + "spark.streams")
READERS = ("silver", "gold")
QUERIES = ("bronze", "raw", *READERS)
FILES = 4


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "my data") as running:
        yield running


def write(events: Path, number: int) -> None:
    events.mkdir(exist_ok=True)
    rows = [{"key": key, "n": 10 * number + n} for n in range(1, 4) for key in ("a b=1", "ü/2\u00a0")]
    aside = events / f".{number}"
    aside.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(aside, (1_700_000_000 + number,) * 2)
    aside.rename(events / f"{number}.json")


def await_rows(server: Server, job: str, files: int) -> None:
    """Waits for all rows of so many files in each output; one row too many never goes."""

    def rows(query: str) -> int:
        return server.face.ask(Compare(job, job, query=query)).equal

    def complete() -> bool:
        server._fail_if_failed(job)
        with server.face.context.catalog.reading() as reader:
            begun = {query.query for query in run_rows.queries(reader, server.newest(job).id)}
        return begun == set(QUERIES) and all(rows(query) >= 6 * files for query in QUERIES)

    until(complete, what=f"{job}: {files} files")
    assert {query: rows(query) for query in QUERIES} == dict.fromkeys(QUERIES, 6 * files), job


def forget_a_commit(commits: Path) -> None:
    """As if the driver had been killed before it committed the newest batch, whose files had been read already."""
    newest = max((path for path in commits.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    newest.unlink()
    newest.with_name(f".{newest.name}.crc").unlink()


def batches(savepoint: Savepoint) -> dict[str, int]:
    return {image.query: image.batch for image in savepoint.queries}


def test_no_file_is_read_twice(server: Server, tmp_path: Path) -> None:
    for number in range(FILES):
        write(events := tmp_path / "events", number)
    do(server.face, RunScript(name="a", script="chained.py", code=CODE, args=(str(events), "{output}")))
    await_rows(server, "a", FILES)
    newest = do(server.face, Take("a"))
    early = do(server.face, Take("a", batch={"bronze": 1, "raw": 0}))
    assert all(batches(early)[reader] < batches(newest)[reader] for reader in READERS)
    with pytest.raises(Conflict, match="Query silver has read by batch") as refused:
        do(server.face, Take("a", batch={"bronze": 1, "silver": batches(newest)["silver"]}))
    assert refused.value.code == "savepoint.ahead"
    with pytest.raises(Conflict, match="Query silver has read files that query bronze wrote") as refused:
        do(server.face, Fork(newest.id, name="b", sinks={"bronze": "fresh"}))
    assert refused.value.code == "restore.own_read"

    with pytest.raises(Unsupported, match="reads the files that query") as alike:
        do(server.face, Fork(newest.id, name="b", lock_step=True))
    assert alike.value.code == "lockstep.query"
    proof = do(server.face, Verify(early.id, Trust.PROVED)).proof
    assert proof is not None and not proof.failed and {batch.query for batch in proof.batches} == set(QUERIES), proof
    assert all(batch.output_rows for batch in proof.batches), "readers had what their writers have written since"

    do(server.face, Fork(newest.id, name="b"))
    do(server.face, Fork(early.id, name="c"))
    write(events, FILES)
    for job in ("a", "b", "c"):
        await_rows(server, job, FILES + 1)
    server.stop("a", savepoint=False)
    server.stop("b", savepoint=False)
    do(server.face, Resume("a", from_savepoint=early.id, code=SWAPPED))
    write(events, FILES + 1)
    for job in ("a", "c"):
        await_rows(server, job, FILES + 2)

    server.stop("a", savepoint=False)
    for query in ("bronze", "raw"):
        forget_a_commit(Path(server.newest("a").checkpoints) / query / "commits")
    do(server.face, Resume("a"))
    write(events, FILES + 2)
    await_rows(server, "a", FILES + 3)
    assert len([event for event in server.face.ask(ListEvents("a")) if event.kind == "sink.kept"]) == 2


COUNTED = """
import os, sys
from pyspark.sql import SparkSession, functions as F

events, output = sys.argv[1:]
spark = SparkSession.builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
often = {"processingTime": "200 milliseconds"}
rows = spark.readStream.schema("key STRING, n LONG").option("maxFilesPerTrigger", 1).json(events)
rows.writeStream.queryName("bronze").trigger(**often).partitionBy("key").start(f"{output}/erz 1", format="parquet")
os.makedirs(f"{output}/erz 1", exist_ok=True)
again = spark.readStream.schema("n LONG, key STRING").option("maxFilesPerTrigger", 2).parquet(f"{output}/erz 1")
counted = again.groupBy("key").agg(F.sum("n").alias("s"))
counted.writeStream.queryName("silver").outputMode("complete").trigger(**often).start(format="noop")
spark.streams.awaitAnyTermination()
"""
SUM = 'F.sum("n").alias("s")'
COUNT = COUNTED.replace(SUM, 'F.count("n").alias("s")')
MORE = COUNTED.replace(SUM, f'F.max("n").alias("most"), {SUM}')


def await_silver(server: Server, job: str) -> None:
    """Waits until all files were read, two in a batch."""
    commits = Path(server.newest(job).checkpoints) / "silver" / "commits"
    until(lambda: (commits / str(FILES - 1)).exists() or server._fail_if_failed(job))


@pytest.mark.usefixtures("kept_jvms")
def test_changed_code_is_tried_on_what_the_savepoint_had_not_read(server: Server, tmp_path: Path) -> None:
    """As it is and on migrated state, and a fork whose state is migrated is rehearsed on that, too."""
    for number in range(FILES):
        write(events := tmp_path / "events", number)
    do(server.face, RunScript(name="a", script="chained.py", code=COUNTED, args=(str(events), "{output}")))
    await_silver(server, "a")
    early = do(server.face, Take("a", batch={"bronze": 1}))
    assert batches(early) == {"bronze": 1, "silver": 1}
    for code, migrate in ((COUNT, None), (MORE, {COLUMNS: ""})):
        trial = do(server.face, TryCode(early.id, code=code, migrate=migrate))
        assert not trial.failed, trial
        assert {query.query: query.batch.input_rows for query in trial.queries} == {"bronze": 6, "silver": 6}, trial
        (meaning,) = trial.meanings
        assert meaning.example is not None and meaning.example.old and meaning.example.old != meaning.example.new, meaning
    do(server.face, Fork(early.id, name="b", code=MORE, migrate={COLUMNS: ""}))
    (event,) = [event for event in server.face.ask(ListEvents("b")) if event.kind == "job.migrated"]
    assert "batch 2 of silver put out 2 rows" in event.message, event
    await_silver(server, "b")


@pytest.mark.usefixtures("kept_jvms")
def test_arguments_that_move_what_a_query_reads_into_the_output_are_tried(server: Server, tmp_path: Path) -> None:
    for number in range(FILES):
        write(events := tmp_path / "events", number)
    do(server.face, RunScript(name="a", script="chained.py", code=COUNTED, args=(str(events), str(tmp_path / "outside"))))
    await_silver(server, "a")
    early = do(server.face, Take("a", batch={"bronze": 1}))
    trial = do(server.face, TryCode(early.id, args=(str(events), "{output}")))
    assert not trial.failed, trial
    assert {query.query: query.batch.input_rows for query in trial.queries} == {"bronze": 6, "silver": 6}, trial
