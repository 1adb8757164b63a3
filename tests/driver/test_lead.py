"""What a follower reads of its leader's checkpoint, while Spark shortens the logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.domain.errors import Conflict
from pipelines.domain.ids import JobName
from pipelines.domain.lockstep import GONE, MOVED, Lead
from pipelines.domain.run_specs import SPEC_FILE
from pipelines.driver.lead import LOOK_S, LeadQuery


def plan(checkpoint: Path, batch: int, *, commit: bool = True) -> str:
    entry = "\n".join(
        ["v1", json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1000 + batch, "conf": {}}), json.dumps({"logOffset": batch})]
    )
    for log in ("offsets", "commits"):
        (checkpoint / log).mkdir(parents=True, exist_ok=True)
    (checkpoint / "offsets" / str(batch)).write_text(entry)
    if commit:
        (checkpoint / "commits" / str(batch)).write_text("v1\n{}")
    return entry


def test_a_batch_is_the_leaders_once_it_is_committed(tmp_path: Path) -> None:
    plan(tmp_path / "q", 0)
    second = plan(tmp_path / "q", 1, commit=False)
    lead = LeadQuery(Lead(JobName("a"), str(tmp_path)), "q", tmp_path / "kept")
    first = lead.planned(0)
    assert first is not None and (first.batch, first.at_ms) == (0, 1000) and lead.planned(1) is None
    plan(tmp_path / "q", 1)
    later = lead.planned(1)
    assert later is not None and later.entry == second


def test_what_is_ahead_is_kept_when_spark_removes_it(tmp_path: Path) -> None:
    for batch in range(3):
        plan(tmp_path / "q", batch)
    lead = LeadQuery(Lead(JobName("a"), str(tmp_path)), "q", tmp_path / "kept")
    assert lead.planned(0) is not None
    plan(tmp_path / "q", 3)
    lead.keep_up()
    for batch in (1, 2, 3):
        (tmp_path / "q" / "offsets" / str(batch)).unlink()
    assert lead.planned(1) is not None
    restarted = LeadQuery(Lead(JobName("a"), str(tmp_path)), "q", tmp_path / "kept")
    for batch in (1, 2, 3):
        entry = restarted.planned(batch)
        assert entry is not None and entry.at_ms == 1000 + batch
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["3"], "nothing is kept that was run"
    behind = LeadQuery(Lead(JobName("a"), str(tmp_path)), "q", tmp_path / "another")
    with pytest.raises(Conflict, check=lambda error: error.code == GONE and "Batch 1 of a" in error.message):
        behind.planned(1)


def test_files_of_an_entry_are_found_in_a_later_compact_file(tmp_path: Path) -> None:
    log = tmp_path / "q" / "sources" / "0"
    log.mkdir(parents=True)
    lines = [json.dumps({"path": f"file:///{batch}", "timestamp": 1, "batchId": batch}) for batch in range(4)]
    (log / "3").write_text(f"v1\n{lines[3]}")
    (log / "2.compact").write_text("\n".join(["v1", *lines[:3]]))
    lead = LeadQuery(Lead(JobName("a"), str(tmp_path)), "q", tmp_path / "kept")
    assert [lead.files("0", entry) for entry in (1, 2, 3)] == [f"v1\n{lines[entry]}" for entry in (1, 2, 3)]
    with pytest.raises(Conflict, check=lambda error: error.code == GONE):
        lead.files("0", 4)


def test_a_leader_that_goes_on_elsewhere_is_noticed(tmp_path: Path) -> None:
    job, now = tmp_path / "job", [0.0]
    checkpoints = job / "checkpoints" / "r1"
    plan(checkpoints / "q", 0)
    for run, folder in (("r1", checkpoints), ("r2", checkpoints), ("r3", job / "checkpoints" / "r3")):
        (job / "runs" / run).mkdir(parents=True)
        (job / "runs" / run / SPEC_FILE).write_text(json.dumps({"checkpoints": str(folder)}))
    lead = LeadQuery(Lead(JobName("a"), str(checkpoints), str(job / "wanted.json")), "q", tmp_path / "kept", lambda: now[0])
    for run in ("r1", "r2", "r3"):
        (job / "wanted.json").write_text(json.dumps({"run": run}))
        now[0] += 2 * LOOK_S
        if run != "r3":
            assert lead.planned(1) is None
            continue
        with pytest.raises(Conflict, check=lambda error: error.code == MOVED):
            lead.planned(1)


def test_a_checkpoint_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(Conflict, check=lambda error: error.code == GONE):
        LeadQuery(Lead(JobName("a"), str(tmp_path / "none")), "q", tmp_path / "kept").planned(0)
