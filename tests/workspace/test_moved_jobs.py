"""A workspace that somebody moved: what a job that goes on there has in its logs and in its state is where it is now."""

from __future__ import annotations

from pathlib import Path

from pipelines.checkpoint import relocation
from pipelines.verbs.face import do
from pipelines.verbs.resume import Resume
from pipelines.verbs.system import ListEvents
from tests.workspace.conftest import House


def named(root: Path, place: Path) -> list[str]:
    """The files of the workspace's jobs, but for what runs have noted, that name the place."""
    files = [path for path in root.glob("jobs/a/[!r]*/**/*") if path.is_file()]
    return [str(path.relative_to(root)) for path in files if f"{place}/jobs".encode() in path.read_bytes()]


def test_nothing_that_spark_reads_names_the_old_place(house: House, tmp_path: Path) -> None:
    run = house.ran(golden="transform")
    checkpoint = Path(run.checkpoints) / "counts"
    metadata = checkpoint / "state/0/_metadata/v2/0"
    metadata.write_bytes(relocation.relocated("state/0/_metadata/v2/0", metadata.read_bytes(), str(checkpoint)))
    log = checkpoint / "sources/0/0"
    read = house.face.layout.output(run.job) / "made/ü 1.json"
    log.write_text(f'v1\n{{"path":"file://{str(read).replace(" ", "%20")}","timestamp":1,"batchId":0}}')
    assert len(named(house.root, house.root)) > 3
    house.face.close()
    now = house.root.rename(tmp_path / "moved")
    there = House(now)
    do(there.face, Resume("a"))
    assert not named(now, house.root)
    assert f"file://{now}/jobs/a/output/made/ü%201.json" in next(now.glob("jobs/a/checkpoints/*/counts/sources/0/0")).read_text()
    assert [event.kind for event in there.face.ask(ListEvents("a"))].count("job.moved") == 1
    there.face.close()
