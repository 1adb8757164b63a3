"""What a savepoint of a running RocksDB job costs, beside `cp -r` of the same checkpoint in the same minutes.

Run by hand: `python3 -m tests -m bench tests/bench/test_savepoints.py -s`. Prints ratios; asserts only what does not depend on the machine.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipelines.domain.runs import PROGRESS_FILE
from pipelines.domain.savepoints import Savepoint
from pipelines.supervisor.loop import SupervisorLoop
from pipelines.verbs.face import do
from pipelines.verbs.jobs import ReadLog, ShowJob
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.verbs.stop import Stop
from pipelines.verbs.take import Take
from pipelines.workspace.opening import open_workspace
from pipelines.workspace.workspace import Workspace

SCRIPT = Path(__file__).with_name("state_job.py")
JOB = "state"
SAVEPOINTS = 20
BATCHES_A_WINDOW = 12
MEGABYTE = 1_000_000


@pytest.mark.bench
@pytest.mark.spark
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("state_bytes", [500 * MEGABYTE, 1_500 * MEGABYTE], ids=["500MB", "1500MB"])
def test_a_savepoint_costs_files_not_bytes(tmp_path: Path, state_bytes: int) -> None:
    with running(tmp_path / "workspace") as workspace:
        grow(workspace, state_bytes)
        run = do(workspace, Resume(JOB, args=("--rows", "500")))
        progress = workspace.layout.run(run.job, run.id) / PROGRESS_FILE
        wait_for(lambda: len(durations(progress)) >= 5, "the first batches after the resume")
        taken, quiet, busy = alternate(workspace, progress)
        copied = [copy_seconds(Path(run.checkpoints), tmp_path / "copy") for _ in range(3)]
        image = [copy_seconds(Path(taken[-1].path), tmp_path / "copy") for _ in range(3)]
    report(state_bytes, taken, quiet, busy, copied, image)
    assert len(taken) == SAVEPOINTS
    assert max(s.new_bytes / s.bytes for s in taken) < 0.02


@contextmanager
def running(root: Path) -> Iterator[Workspace]:
    """A workspace with its supervisor; ends the job on the way out."""
    workspace = open_workspace(root)
    loop = SupervisorLoop(workspace)
    loop.start()
    try:
        yield workspace
    finally:
        if workspace.ask(ShowJob(JOB)).summary.state in ("running", "starting", "wanted"):
            stop(workspace)
        loop.stop()
        workspace.close()


def grow(workspace: Workspace, state_bytes: int) -> None:
    """Runs the job with large batches until its store holds `state_bytes`, then stops it without a savepoint."""
    rows = 50_000
    change = RunScript(
        name=JOB, script=SCRIPT.name, code=SCRIPT.read_text(), args=("--rows", str(rows)), conf={"spark.driver.memory": "4g"}
    )
    run = do(workspace, change)
    progress = workspace.layout.run(run.job, run.id) / PROGRESS_FILE
    batches = -(-state_bytes // (rows * 1024))
    wait_for(lambda: failed(workspace) or len(durations(progress)) >= batches, f"{batches} batches of {rows} rows", 1_500)
    assert not failed(workspace), workspace.ask(ReadLog(JOB)).text[-2_000:]
    stop(workspace)


def failed(workspace: Workspace) -> bool:
    return workspace.ask(ShowJob(JOB)).summary.state == "failed"


def stop(workspace: Workspace) -> None:
    do(workspace, Stop(JOB, savepoint=False))


def alternate(workspace: Workspace, progress: Path) -> tuple[list[Savepoint], list[float], list[float]]:
    """Windows of batches without and with savepoints in turn, so that the machine's drift meets both alike."""
    taken: list[Savepoint] = []
    quiet: list[float] = []
    busy: list[float] = []
    while len(taken) < SAVEPOINTS:
        quiet += window(progress, lambda: None)
        busy += window(progress, lambda: taken.append(take(workspace)))
    return taken[:SAVEPOINTS], quiet, busy


def window(progress: Path, between: Callable[[], None]) -> list[float]:
    """The durations (ms) of the next batches; `between` runs while every second of them does."""
    before = len(durations(progress))
    for batch in range(BATCHES_A_WINDOW):
        if batch % 2 == 0:
            between()
        wait_for(lambda seen=before + batch: len(durations(progress)) > seen, "the next batch")
    return durations(progress)[before:]


def take(workspace: Workspace) -> Savepoint:
    return do(workspace, Take(JOB))


def durations(progress: Path) -> list[float]:
    if not progress.exists():
        return []
    return [json.loads(line)["durationMs"]["triggerExecution"] for line in progress.read_text().splitlines() if line.endswith("}")]


def copy_seconds(source: Path, target: Path, *, keep: bool = False) -> float:
    """What `cp -r` takes; the copy is deleted unless it is to be kept."""
    started = time.perf_counter()
    subprocess.run(["cp", "-r", str(source), str(target)], check=False, stderr=subprocess.DEVNULL)  # Spark deletes old files under it
    took = time.perf_counter() - started
    if not keep:
        shutil.rmtree(target)
    return took


def wait_for(met: Callable[[], bool], what: str, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.05)


def report(
    state_bytes: int, taken: list[Savepoint], quiet: list[float], busy: list[float], copied: list[float], image: list[float]
) -> None:
    median = statistics.median
    took = [savepoint.took_ms for savepoint in taken]
    p99 = [statistics.quantiles(batches, n=100, method="inclusive")[98] for batches in (busy, quiet)]
    newest, whole, closure = taken[-1], median(copied) * 1000, median(image) * 1000
    print(f"\nstate asked for {state_bytes / MEGABYTE:,.0f} MB; savepoint {newest.bytes / MEGABYTE:,.0f} MB, {newest.files:,} files")
    print(f"savepoint            median {median(took):.1f} ms, worst {max(took):.1f} ms, {len(took)} taken")
    print(f"cp -r checkpoint     median {whole:,.0f} ms = {whole / median(took):,.0f} x")
    print(f"cp -r of its closure median {closure:,.0f} ms = {closure / median(took):,.0f} x")
    print(f"new bytes            worst {max(s.new_bytes / s.bytes for s in taken):.4%}")
    print(f"p99 batch time       with {p99[0]:,.0f} ms / without {p99[1]:,.0f} ms = {p99[0] / p99[1]:.3f}")
    print(f"median batch time    with {median(busy):,.0f} ms / without {median(quiet):,.0f} ms")
    print(f"batches              {len(busy)} with, {len(quiet)} without")
