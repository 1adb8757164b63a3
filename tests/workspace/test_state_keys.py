"""One key of a job's state by real Spark: what the newest committed batch holds of it, and nothing of the workspace is changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.domain.errors import Corrupt, Invalid, NotFound
from pipelines.domain.state_keys import KeyChange, KeyRows
from pipelines.sandbox.lookups import MOST_ROWS
from pipelines.verbs.face import do
from pipelines.verbs.state_key import LookUpKey
from pipelines.workspace.states import changes
from tests.golden import make
from tests.workspace.conftest import NEWEST, House

WINDOW = {"window.start": "2026-01-01T00:30:00Z", "window.end": "2026-01-01T00:40:00Z"}
"""The one that the golden checkpoints have open."""


def looked_up(house: House, job: str, key: dict[str, str], **named: str | int) -> KeyRows:
    return do(house.face, LookUpKey(job, key, **named))  # type: ignore[arg-type]


def sums(folder: Path, post: str, since: int) -> list[tuple[int, str, int]]:
    """What the batches after `since` make of the key, by their input: a file a batch."""
    make.write_input(folder, make.BATCHES, 0)
    made, total = list[tuple[int, str, int]](), 0
    for batch, file in enumerate(sorted(folder.iterdir())):
        events = [json.loads(line) for line in file.read_text().splitlines()]
        own = [event["n"] for event in events if event["post"] == post and "00:30" <= event["ts"][11:16] < "00:40"]
        total += sum(own)
        made += [(batch, "update", total)] if own and batch > since else []
    return made


def files(folder: Path) -> dict[str, tuple[int, int]]:
    """Path -> size and time of change."""
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_a_key_has_the_value_of_the_newest_batch_and_the_checkpoint_stays_as_it_was(house: House, tmp_path: Path) -> None:
    for job, golden in (("rocks", "rocksdb_format2"), ("held", "hdfs")):
        run = house.ran(job, golden)
        before = files(Path(run.checkpoints))
        key_rows = looked_up(house, job, {**WINDOW, "post": "p1"})
        assert [row["value"] for row in key_rows.rows] == [{"sum": 333}]
        assert (key_rows.batch, key_rows.query, key_rows.operator, key_rows.store) == (NEWEST, "counts", 0, "default")
        assert key_rows.partition == key_rows.rows[0]["partition_id"]
        assert files(Path(run.checkpoints)) == before and key_rows.history is None
        since = looked_up(house, job, {**WINDOW, "post": "p1"}, since=NEWEST - 4).history
        assert since is not None and (since.since, since.note) == (NEWEST - 4, "")
        assert [(change.batch, change.change, change.row["value"]["sum"]) for change in since.changes] == sums(
            tmp_path / job, "p1", NEWEST - 4
        )
        assert files(Path(run.checkpoints)) == before
    house.ran("joined", "join")
    side = looked_up(house, "joined", {"field0": "p1"}, store="left", since=make.FEW_BATCHES - 3)
    assert side.history is not None and side.history.note == ""
    newest = {change.row["key"]["index"]: change for change in side.history.changes}
    left = [change.row["value"] for change in newest.values() if change.change == "update"]
    assert left and all({**value, "matched": None} in [{**row["value"], "matched": None} for row in side.rows] for value in left)
    assert looked_up(house, "held", {**WINDOW, "post": "nobody"}).rows == ()
    assert not list(house.face.layout.savepoints.iterdir()) and not list(house.face.layout.sandbox.iterdir())
    with pytest.raises(Invalid) as wrong:
        looked_up(house, "held", {**WINDOW, "window.end": "soon", "post": "p1"})
    assert wrong.value.code == "state.key" and "'soon' is no timestamp, which window.end is" in wrong.value.message


def test_changes_that_are_too_many_to_be_shown_say_where_they_end() -> None:
    made = tuple(KeyChange(3 + at // 600, "update", {}) for at in range(MOST_ROWS))
    assert changes.cut(made[1:]) == ""
    assert changes.cut(made) == "Only the first 1,000 changes are here, and they end within batch 4: ask for those since batch 3, too."


@pytest.mark.spark
@pytest.mark.usefixtures("kept_jvms")
def test_damaged_state_is_said_to_be_damaged(house: House) -> None:
    run = house.ran("a", "hdfs")
    for file in Path(run.checkpoints).rglob("state/0/[0-9]/*.*"):
        file.write_bytes(b"x" * file.stat().st_size)
    with pytest.raises(Corrupt) as damaged:
        looked_up(house, "a", {**WINDOW, "post": "p1"})
    assert damaged.value.code == "state.damaged" and not list(house.face.layout.sandbox.iterdir())


def test_what_has_no_such_state_is_refused_before_any_spark(house: House) -> None:
    house.ran("bare", "stateless")
    house.ran("joined", "join")
    for job, named, code in (
        ("bare", {}, "state.none"),
        ("nobody", {}, "job.not_found"),
        ("joined", {"store": "middle"}, "state.not_found"),
    ):
        with pytest.raises(NotFound) as none:
            looked_up(house, job, {"post": "p1"}, **named)
        assert none.value.code == code
    with pytest.raises(Invalid) as several:
        looked_up(house, "joined", {"post": "p1"})
    assert several.value.code == "state.several"


def test_a_key_of_other_columns_is_refused_before_any_spark(house: House) -> None:
    for job, golden in (("rocks", "rocksdb_format2"), ("joined", "join"), ("transformed", "transform")):
        house.ran(job, golden)
    for job, named, key, says in (
        ("rocks", {}, {"post": "p1"}, "window.start (timestamp) is missing: the whole key is needed"),
        ("rocks", {}, {**WINDOW, "pots": "p1"}, "there is no key column pots; there are window.start, window.end, post"),
        ("rocks", {}, {"window": "{}"}, "post (string) is missing"),
        ("joined", {"store": "left"}, {"post": "p1"}, "there is no key column post; there are field0"),
        ("joined", {"store": "right"}, {}, "field0 (string) is missing"),
        ("transformed", {"variable": "total"}, {"key": "p1"}, "there is no key column key; there are post"),
        ("transformed", {"variable": "seen"}, {"post": "p1", "n": "1"}, "there is no key column n; there are post"),
    ):
        with pytest.raises(Invalid) as refused:
            looked_up(house, job, key, **named)  # type: ignore[arg-type]
        assert refused.value.code == "state.key" and says in refused.value.message, refused.value.message
        assert "--key NAME=VALUE" in refused.value.hint and not list(house.face.layout.sandbox.iterdir())
