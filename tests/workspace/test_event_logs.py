"""Event logs of runs: where Spark writes them, how they are bounded, which of them stay, and when there is none to open."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.domain import event_logs
from pipelines.domain.errors import NotFound, Unavailable
from pipelines.domain.event_logs import DIRECTORY, ENABLED, FOLDER, Cut, Part, cut, parts
from pipelines.domain.jobs import Run
from pipelines.domain.runs import RunState
from pipelines.verbs.face import do
from pipelines.verbs.history import OpenHistory
from pipelines.verbs.resume import Resume
from pipelines.verbs.run import RunScript
from pipelines.workspace import histories, rehearsals
from pipelines.workspace.backups import parts as backup_parts
from tests.workspace.conftest import CODE, House

ON = {ENABLED: "true"}
APP = "local-17"


def run(house: House, name: str, conf: dict[str, str]) -> Run:
    return do(house.face, RunScript(name=name, script="job.py", code=CODE, conf=conf))


def log(house: House, run: Run, application: str = APP) -> Path:
    folder = house.folder(run) / FOLDER / f"eventlog_v2_{application}"
    folder.mkdir(parents=True)
    (folder / f"events_1_{application}.zstd").write_bytes(b"12345")
    return folder


def test_it_goes_into_the_runs_folder(house: House) -> None:
    begun = run(house, "a", {**ON, "spark.eventLog.rolling.maxFileSize": "20m"})
    conf = house.face.context.files.spec(begun.job, begun.id).conf
    assert conf[DIRECTORY] == (house.folder(begun) / FOLDER).as_uri()
    assert (conf["spark.eventLog.rolling.enabled"], conf["spark.eventLog.rolling.maxFileSize"]) == ("true", "20m")
    version = house.face.context.files.version(begun.version)
    assert version is not None and dict(version.conf) == {**ON, "spark.eventLog.rolling.maxFileSize": "20m"}
    scratch = rehearsals.beginning_spec(house.face.context, begun.job, version, house.root / "scratch", "c")
    assert ENABLED not in scratch.conf, "what is only tried has none"
    own = {**ON, DIRECTORY: "s3a://logs"}
    elsewhere = run(house, "b", own)
    assert house.face.context.files.spec(elsewhere.job, elsewhere.id).conf == own


def test_of_a_jobs_runs_the_newest_keep_theirs(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_logs, "RUNS_KEPT", 2)
    first = house.lay(run(house, "a", ON))
    log(house, first)
    second = do(house.face, Resume("a"))
    log(house, second)
    house.see(second, RunState.STOPPED)
    assert (house.folder(first) / FOLDER).is_dir()
    do(house.face, Resume("a"))
    assert not (house.folder(first) / FOLDER).exists() and (house.folder(second) / FOLDER).is_dir()


def test_a_backup_leaves_it(house: House) -> None:
    begun = house.lay(run(house, "a", ON))
    log(house, begun)
    paths = [part.path for part in backup_parts.of_job(house.face.context, begun.job)]
    assert any(path.endswith("run.json") for path in paths) and not any("eventlog" in path for path in paths)


def test_what_there_is_not(house: House) -> None:
    begun = house.lay(run(house, "a", {}))
    for change, code in (
        (OpenHistory("none"), "job.not_found"),
        (OpenHistory("a", "r-1"), "run.not_found"),
        (OpenHistory("a"), "history.no_log"),
    ):
        with pytest.raises(NotFound) as refused:
            house.face.plan(change)
        assert refused.value.code == code
    log(house, begun)
    with pytest.raises(Unavailable) as alone:
        house.face.plan(OpenHistory("a"))
    assert alone.value.code == "history.server"
    house.face.context.history.open(house.root / "sandbox")
    plan = house.face.plan(OpenHistory("a", begun.id))
    assert (plan.application, plan.bytes) == (APP, 5)


def test_a_link_is_no_log(house: House, tmp_path: Path) -> None:
    begun = house.lay(run(house, "a", ON))
    (tmp_path / "eventlog_v2_secret").mkdir()
    (house.folder(begun) / FOLDER).mkdir()
    (house.folder(begun) / FOLDER / "eventlog_v2_secret").symlink_to(tmp_path / "eventlog_v2_secret")
    assert histories._of_job(house.face.context, begun.job) == []


def test_a_log_that_is_too_large_loses_its_middle() -> None:
    files = [Part(f"events_{number}_a.zstd", 10) for number in range(1, 6)]
    assert cut(files, 50) is None and cut(files[:2], 5) is None
    assert cut(files, 45) == Cut("events_1_a.zstd", "events_2_a.zstd.compact", ("events_2_a.zstd",))
    assert cut(files, 1) == Cut("events_1_a.zstd", "events_4_a.zstd.compact", ("events_2_a.zstd", "events_3_a.zstd", "events_4_a.zstd"))
    later = parts(
        [
            ("appstatus_a.inprogress", 0),
            ("events_10_a.zstd", 9),
            ("events_4_a.zstd.compact", 10),
            ("events_4_a.zstd", 10),
            ("events_9_a.zstd", 10),
        ]
    )
    assert [part.name for part in later] == ["events_4_a.zstd.compact", "events_9_a.zstd", "events_10_a.zstd"]
    assert cut(later, 20) == Cut("events_4_a.zstd.compact", "events_9_a.zstd.compact", ("events_9_a.zstd",))
