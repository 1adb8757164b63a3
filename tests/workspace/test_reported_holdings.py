"""What a source says of itself with each batch: whether a savepoint can be used, and a refusal before a fork begins."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain import reported
from pipelines.domain.errors import Conflict
from pipelines.domain.holdings import Holdings, Usable
from pipelines.domain.jobs import Run
from pipelines.domain.runs import PROGRESS_FILE
from pipelines.domain.savepoints import Savepoint
from pipelines.domain.sources import SourceSeen
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.holdings import AskHoldings
from pipelines.verbs.take import Take
from pipelines.words import holdings as words
from pipelines.workspace import ingestion
from pipelines.workspace.holdings import reported as reported_holdings
from tests.workspace.conftest import NEWEST, House, progress_line

LACKS = [
    ('{"next":7}', '{"next":9,"holds":{"next":7}}', []),
    ('{"next":7}', '{"next":20,"holds":{"next":12}}', [("next: 7 to 11 are gone, it begins at 12", 5)]),
    ('{"a":{"at":1},"b":{"at":5}}', '{"holds":{"a":{"at":3},"b":{"at":5},"c":{"at":9}}}', [("a, at: 1 to 2 are gone, it begins at 3", 2)]),
    ('{"next":7}', '{"next":9}', None),
    ('{"next":7}', "", None),
    ('{"next":7}', '{"holds":{"next":"x"}}', None),
    ('{"next":true}', '{"holds":{"next":7}}', None),
    ("17", '{"holds":{"next":7}}', None),
    ('{"next":7}', '{"holds":[7]}', None),
    ('{"next":7}', "not json", None),
]


@pytest.mark.parametrize(("offset", "latest", "lacks"), LACKS)
def test_numbers_of_the_same_name_are_compared(offset: str, latest: str, lacks: list[tuple[str, int]] | None) -> None:
    seen = reported.lacks(offset, latest)
    assert (None if seen is None else [(lack.words, lack.count) for lack in seen]) == lacks


UNTIL = [
    ('{"s-0":{"at_ms":500},"s-1":{"at_ms":300}}', '{"keeps_ms":1000}', 1_300),
    ('{"s-0":{"at_ms":500},"s-1":{"at_ms":300,"ended":true}}', '{"keeps_ms":1000}', 1_500),
    ('{"s-0":{"at_ms":500},"s-1":{"at_ms":0}}', '{"keeps_ms":1000}', None),
    ('{"s-0":{"at_ms":500},"s-1":{"at_ms":"x"}}', '{"keeps_ms":1000}', None),
    ('{"s-0":{"at_ms":300,"ended":true}}', '{"keeps_ms":1000}', None),
    ('{"next":7}', '{"keeps_ms":1000}', None),
    ('{"at_ms":500}', '{"keeps_ms":true}', None),
    ('{"at_ms":500}', '{"keeps_ms":-1}', None),
    ('{"at_ms":500}', "", None),
]


@pytest.mark.parametrize(("offset", "latest", "until_ms"), UNTIL)
def test_rows_are_kept_from_when_the_last_one_came(offset: str, latest: str, until_ms: int | None) -> None:
    assert reported.until_ms(offset, latest) == until_ms


@pytest.fixture
def run(house: House) -> Run:
    """A job whose query reads a source of its own kind: batch N ends at ten times N."""
    run = house.ran()
    checkpoint = Path(run.checkpoints) / "counts"
    shutil.rmtree(checkpoint / "sources")
    for log in (checkpoint / "offsets").iterdir():
        if log.name.startswith("."):
            log.unlink()
        else:
            *lines, _ = log.read_text().splitlines()
            log.write_text("\n".join([*lines, json.dumps({"next": 10 * int(log.name)})]))
    return run


def tell(house: House, run: Run, latest: Any, before_ms: int = 0) -> None:
    """What the query's next batch says."""
    batch = tell.batch = getattr(tell, "batch", NEWEST) + 1  # type: ignore[attr-defined]
    query_id = json.loads((Path(run.checkpoints) / "counts" / "metadata").read_text())["id"]
    event = json.loads(progress_line(batch % 60, "2026-11-20T09:00:00.000Z")) | {"id": query_id, "batchId": batch}
    event["sources"] = [{"description": "http_log", "endOffset": {"next": 10 * batch}, "latestOffset": latest, "numInputRows": 10}]
    house.append(run, PROGRESS_FILE, json.dumps(event) + "\n")
    ingestion.follow(house.face.context, ingestion.of_run(house.face.context, run.job, run.id))


def held(house: House, savepoint: Savepoint) -> Holdings:
    holdings = do(house.face, AskHoldings(savepoint.id)).holdings
    assert holdings is not None
    return holdings


def test_a_source_that_keeps_rows_for_a_time_says_until_when(house: House, run: Run) -> None:
    now_ms, taken = house.clock(), do(house.face, Take("a"))
    (image,) = taken.queries
    offset = replace(image.offsets[0], offset=json.dumps({"s-0": {"after": "7", "at_ms": now_ms - 1_000}}))
    sources = (SourceSeen("kinesis", "", "", json.dumps({"keeps_ms": 5_000}), 1),)
    for late_ms, usable, until_ms in ((0, Usable.YES, now_ms + 4_000), (4_000, Usable.UNKNOWN, None)):
        holding = reported_holdings.of_source(image, offset, "kinesis", (now_ms, sources), now_ms + late_ms)
        assert holding is not None and (holding.usable, holding.until_ms, holding.keeps_ms) == (usable, until_ms, 5_000)


def test_a_source_that_says_what_it_holds_is_believed(house: House, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = do(house.face, Take("a", NEWEST - 4))
    assert [offset.offset for image in taken.queries for offset in image.offsets] == ['{"next": 90}']
    assert held(house, taken).usable is Usable.UNKNOWN and "nobody can ask" in held(house, taken).sources[0].why
    monkeypatch.setattr(reported_holdings, "FRESH_MS", 10**12)
    tell(house, run, {"next": 900, "holds": {"next": 90}})
    assert held(house, taken).usable is Usable.YES
    assert house.face.plan(Fork(taken.id, name="b")).refusal is None
    monkeypatch.setattr(reported_holdings, "FRESH_MS", -(10**12))
    stale = held(house, taken)
    assert stale.usable is Usable.UNKNOWN and "had all when counts told last" in stale.sources[0].why
    tell(house, run, {"next": 900, "holds": {"next": 95}})
    gone = held(house, taken)
    assert gone.usable is Usable.NO, "what is gone stays gone"
    assert (gone.sources[0].gone, gone.sources[0].unit) == (5, "offsets")
    with pytest.raises(Conflict, match=r"next: 90 to 94 are gone, it begins at 95") as refused:
        do(house.face, Fork(taken.id, name="b"))
    assert refused.value.code == "source.gone" and refused.value.hint.endswith("--offsets SOURCE=OFFSET, as JSON.")
    assert words.why(gone) == "counts, source 0: source 0: next: 90 to 94 are gone, it begins at 95", "once"
    assert house.face.plan(Fork(taken.id, name="b", force=True)).refusal is None
    left = house.face.plan(Fork(taken.id, name="b", offsets={"0": '{"next": 95}'}))
    assert left.refusal is None and [moved.after for moved in left.moved] == ['{"next": 95}']
    tell(house, run, {"next": 900})
    assert held(house, taken).usable is Usable.UNKNOWN, "it says no more what it holds"
