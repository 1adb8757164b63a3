"""From asking for a fork to its first new batch: in a warm process, in a cold one, and by plain `spark-submit` of the same script."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from pipelines.domain.masters import DEFAULT
from pipelines.domain.runtimes import OWN
from pipelines.sandbox import environment
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.run import RunScript
from pipelines.verbs.stop import Stop
from pipelines.verbs.take import Take
from pipelines.workspace import example
from tests import warm
from tests.waiting import until
from tests.workspace.serving import Server, serving

pytestmark = [pytest.mark.bench, pytest.mark.spark]
ROUNDS = 3
CONF = {"spark.ui.enabled": "false", "spark.log.level": "ERROR"}
QUERY = "engagement"


def commits(checkpoints: str | Path) -> int:
    """The newest committed batch of the query; -1 without one."""
    return max((int(path.name) for path in Path(checkpoints, QUERY, "commits").glob("[0-9]*")), default=-1)


def took(began: float, true: Callable[[], bool]) -> float:
    until(true, seconds=300, every=0.01)
    return time.monotonic() - began


def forked(server: Server, savepoint: str, name: str, batch: int) -> float:
    """Seconds from asking for the fork to its first batch past the savepoint's."""
    began = time.monotonic()
    do(server.face, Fork(savepoint, name=name))
    seconds = took(began, lambda: commits(server.newest(name).checkpoints) > batch)
    do(server.face, Stop(name, at_once=True))
    return seconds


def warmed(server: Server) -> None:
    pool = server.face.context.sparks
    pool.open(server.face.layout.warm, warm.USUAL)
    pool.drivers = 1
    pool.expect(OWN, DEFAULT, {})
    until(lambda: any(process.is_warm for process in pool.processes()))


def submitted(folder: Path, events: str) -> float:
    """Seconds from the start of plain `spark-submit` to its first committed batch."""
    folder.mkdir()
    script = folder / "post_engagement.py"
    script.write_text(example.code("post_engagement.py"))
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    confs = [word for key, value in CONF.items() for word in ("--conf", f"{key}={value}")]
    arguments = ["--events", events, "--output", str(folder / "output"), "--checkpoint", str(folder / "checkpoint")]
    command = [str(Path(spec.origin).parent / "bin" / "spark-submit"), "--master", DEFAULT, *confs, str(script), *arguments]
    environ = {**environment.environ(DEFAULT, OWN), "PYSPARK_PYTHON": sys.executable}
    with (folder / "log").open("wb") as log:
        began = time.monotonic()
        process = subprocess.Popen(command, env=environ, stdout=log, stderr=log, cwd=folder, start_new_session=True)
        try:
            return took(began, lambda: any((folder / "checkpoint").rglob("commits/0")))
        finally:
            os.killpg(process.pid, 9)
            process.wait()


def test_a_fork_in_a_warm_process_has_its_first_batch_sooner_than_a_cold_one(tmp_path: Path) -> None:
    warm.one_environment()
    with serving(tmp_path / "ws") as server:
        events = str(server.face.layout.root / "jobs" / "events" / "output")
        made = ("--out", "{output}", "--rate", "100", "--interval", "0.5")
        do(server.face, RunScript(name="events", script="post_events.py", code=example.code("post_events.py"), args=made))
        counted = ("--events", events, "--output", "{output}", "--trigger", "1 second")
        do(
            server.face,
            RunScript(name="job", script="post_engagement.py", code=example.code("post_engagement.py"), args=counted, conf=CONF),
        )
        server.await_batches("job", 3)
        savepoint = do(server.face, Take("job"))
        server.stop("job", savepoint=False)
        batch = max(image.batch for image in savepoint.queries)
        ways: dict[str, list[float]] = {"spark-submit": [], "cold": [], "warm": []}
        for number in range(ROUNDS):
            ways["spark-submit"].append(submitted(tmp_path / f"plain{number}", events))
            server.face.context.sparks.drivers = 0
            ways["cold"].append(forked(server, savepoint.id, f"cold{number}", batch))
            warmed(server)
            ways["warm"].append(forked(server, savepoint.id, f"warm{number}", batch))
    medians = {way: statistics.median(seconds) for way, seconds in ways.items()}
    for way, seconds in ways.items():
        print(f"{way}: {', '.join(f'{second:.1f}' for second in seconds)} s; {medians[way] / medians['spark-submit']:.2f} of spark-submit")
    assert medians["warm"] < medians["cold"]
