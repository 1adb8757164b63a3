"""A job of several files with real Spark: its workers import its modules, and what goes on from a savepoint of it gives what it gave."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import duckdb
import pytest

from pipelines.client import scripts
from pipelines.domain.files import packed
from pipelines.domain.runs import RunState
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.trust import Trust
from pipelines.verbs.experiments import Compare
from pipelines.verbs.export import Export
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.import_ import Import
from pipelines.verbs.jobs import ReadLog
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from tests import wheels
from tests.waiting import until
from tests.workspace.proving import CONF
from tests.workspace.serving import Server, serving

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

PROJECT = {
    "job.py": """
import sys
from pathlib import Path
from pyspark import SparkFiles
from pyspark.sql import SparkSession, functions as F
from pipelines.rows import distinct
import names

spark = SparkSession.builder.getOrCreate()
assert Path(SparkFiles.get("names.txt")).is_file()
assert Path(SparkFiles.get("model.bin")).read_bytes() == Path(sys.argv[3]).read_bytes() == b"a model"
name = F.udf(names.name, "string")
events = spark.readStream.schema("n INT").option("maxFilesPerTrigger", 1).json(sys.argv[1])
rows = distinct(events).select("n", name("n").alias("name"))
query = rows.writeStream.queryName("rows").format("parquet").trigger(availableNow=True).start(sys.argv[2])
query.awaitTermination()
""",
    "names.py": """
from pathlib import Path

import tiny

NAMES = Path(__file__).with_name("names.txt").read_text().split()

def name(n):
    return tiny.pick(NAMES, n)
""",
    "names.txt": "ada bob cyd\n",
    "pipelines/__init__.py": "",
    "pipelines/rows.py": "def distinct(events):\n    return events.dropDuplicates(['n'])\n",
}
"""Its package is called as ours is, which runs in the same process."""
WHEEL = f"wheels/{wheels.file_name('tiny', '1.0')}"
PICK = "def pick(names, n):\n    return names[n % len(names)]\n"
REQUIREMENTS = "--no-index\n--find-links {code}/wheels\ntiny\n"
"""A package that the workers need and that is in no environment but the job's own; its wheel is one of the files."""
FILES, AT = 4, 1
"""Files of input, one a batch; the batch that others go on after."""


def numbers(file: int) -> range:
    """Half of what a file has was in the one before it: without state it would come again."""
    return range(file * 5, file * 5 + 10)


def rows_of(files: range, names: str) -> list[tuple[int, str]]:
    """What the batches of `files` add to those before."""
    new = sorted({n for file in files for n in numbers(file)} - {n for file in range(files.start) for n in numbers(file)})
    return [(n, names.split()[n % len(names.split())]) for n in new]


def lay(folder: Path) -> tuple[Path, Path]:
    """The project's script, and the folder of its input: files a second apart, so that Spark's order is fixed."""
    for path, text in PROJECT.items():
        (folder / "project" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "project" / path).write_text(text)
    events = folder / "events"
    events.mkdir()
    for file in range(FILES):
        batch = events / f"{file}.json"
        batch.write_text("".join(f'{{"n": {n}}}\n' for n in numbers(file)))
        os.utime(batch, (1_767_225_600 + file,) * 2)
    return folder / "project" / "job.py", events


def finished(server: Server, job: str) -> None:
    until(lambda: not server.newest(job).state.live)
    assert server.newest(job).state is RunState.FINISHED, server.face.ask(ReadLog(job)).text


def output(server: Server, job: str) -> list[tuple[int, str]]:
    files = str(server.face.layout.root / "jobs" / job / "output" / "*.parquet")
    return duckdb.sql(f"SELECT n, name FROM '{files}' ORDER BY n").fetchall()


def assert_same(server: Server, a: str, b: str) -> None:
    comparison = server.face.ask(Compare(a, b))
    assert (comparison.equal, comparison.only_a, comparison.only_b, comparison.changed) == (len(rows_of(range(FILES), "x")), 0, 0, 0), (
        comparison
    )


@pytest.fixture(scope="module")
def server(kept_jvms: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("several") / "ws") as running:
        yield running


@pytest.fixture(scope="module")
def saved(server: Server) -> Savepoint:
    """Of a job that ran to its end, at a batch before that."""
    path, events = lay(server.root.parent)
    script = scripts.read(path)
    assert set(script.files) == set(PROJECT) - {"job.py"}
    files: Mapping[str, str | None] = {**script.files, WHEEL: packed(wheels.wheel("tiny", "1.0", PICK))}
    model = server.root.parent / "model.bin"
    model.write_bytes(b"a model")
    outside = {str(model): hashlib.sha256(b"a model").hexdigest()}
    args, conf = (str(events), "{output}", str(model)), {**CONF, "spark.files": f"{model},{{code}}/names.txt"}
    job = RunScript(
        name="a", script="job.py", code=script.code, files=files, outside=outside, args=args, conf=conf, requirements=REQUIREMENTS
    )
    do(server.face, job)
    finished(server, "a")
    model.unlink()
    assert output(server, "a") == rows_of(range(FILES), PROJECT["names.txt"])
    return do(server.face, Take("a", batch=AT))


def test_forks_and_resumes_of_several_files_are_exact(server: Server, saved: Savepoint) -> None:
    do(server.face, Fork(saved.id, name="b"))
    finished(server, "b")
    assert_same(server, "a", "b")
    do(server.face, Resume("a", from_savepoint=saved.id))
    finished(server, "a")
    assert_same(server, "a", "b")
    code = server.face.layout.version(server.newest("a").version) / "code"
    lies = {path.relative_to(code).as_posix() for path in code.rglob("*") if path.is_file()}
    assert lies == {*PROJECT, WHEEL}, "it stays as it was frozen"


def test_a_savepoint_of_several_files_is_proved_and_goes_on_elsewhere(server: Server, saved: Savepoint, tmp_path: Path) -> None:
    verification = do(server.face, Verify(saved.id, Trust.PROVED))
    assert verification.reached is Trust.PROVED, verification
    do(server.face, Export(saved.id, str(tmp_path / "sp.tar.zst")))
    names = "eve fay gus\n"
    with serving(tmp_path / "other") as other:
        do(other.face, Import(str(tmp_path / "sp.tar.zst")))
        do(other.face, Fork(saved.id, name="b", files={"names.txt": names}, sinks={"*": "fresh"}))
        finished(other, "b")
        assert output(other, "b") == rows_of(range(AT + 1, FILES), names)
