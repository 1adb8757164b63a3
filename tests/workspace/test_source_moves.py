"""Sources of Kafka that a fork moves: what its broker has decides, and what is skipped or read again is told in rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.domain.errors import TidemarkError, Unavailable
from pipelines.domain.ids import JobName
from pipelines.domain.kafka import Partition, Topic
from pipelines.domain.runs import QUERIES_FILE, RunState
from pipelines.verbs.experiments import Compare
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from tests.workspace.conftest import House, query_line
from tests.workspace.test_kafka_holdings import answer, saved

BROKER = {"clicks": Topic({0: Partition(2, 30, at=12), 1: Partition(0, 9)})}
"""Of partition 1 there is no row since the time that is asked for."""


@pytest.mark.parametrize(
    ("position", "after", "skipped", "again"),
    [
        ("earliest", '{"clicks":{"0":2,"1":0}}', 0, 13),
        ("latest", '{"clicks":{"0":30,"1":9}}', 24, 0),
        ("2027-01-15T08:00", '{"clicks":{"0":12,"1":9}}', 6, 0),
        ('{"clicks":{"1":7}}', '{"clicks":{"0":10,"1":7}}', 2, 0),
        ('{"clicks":{"0":4,"1":9}}', '{"clicks":{"0":4,"1":9}}', 4, 6),
    ],
)
def test_a_source_of_kafka_is_moved(
    house: House, monkeypatch: pytest.MonkeyPatch, position: str, after: str, skipped: int, again: int
) -> None:
    savepoint = saved(house)
    answer(monkeypatch, BROKER)
    fork = Fork(savepoint.id, name="b", offsets={"counts.0": position})
    (moved,) = house.face.plan(fork).moved
    assert (moved.before, moved.after, moved.skipped, moved.again) == ('{"clicks":{"0":10,"1":5}}', after, skipped, again)
    entry = (Path(do(house.face, fork).checkpoints) / "counts" / "offsets" / str(savepoint.batch)).read_text().splitlines()
    assert entry[2:] == [after] and '"batchWatermarkMs"' in entry[1]


@pytest.mark.parametrize(
    ("position", "third", "skipped"),
    [
        ("earliest", ',"2":3', 0),
        ("latest", ',"2":8', 24 + 5),
        ("2027-01-15T08:00", ',"2":5', 6 + 2),
        ('{"clicks":{"2":7}}', ',"2":7', 4),
        ('{"clicks":{"1":5}}', "", 0),
    ],
)
def test_so_is_a_partition_that_came_after_the_savepoint(
    house: House, monkeypatch: pytest.MonkeyPatch, position: str, third: str, skipped: int
) -> None:
    """Spark would begin it with its first row, which is its third here: what came before is gone."""
    savepoint = saved(house)
    answer(monkeypatch, {"clicks": replace(BROKER["clicks"], partitions={**BROKER["clicks"].partitions, 2: Partition(3, 8, at=5)})})
    plan = house.face.plan(Fork(savepoint.id, name="b", offsets={"counts.0": position}))
    (moved,) = plan.moved
    assert third in moved.after and ('"2"' in moved.after) == bool(third)
    of_others = {"earliest": 13, "latest": 0}.get(position, 0)
    assert (moved.skipped, moved.again) == (skipped, of_others)
    assert (plan.refusal is None) == bool(third), "what is gone of a partition refuses a fork until that is moved past it"


@pytest.mark.parametrize(
    ("position", "code"),
    [
        ('{"clicks":{"0":31}}', "offsets.position"),
        ('{"clicks":{"0":1}}', "offsets.position"),
        ('{"clicks":{"2":1}}', "offsets.position"),
        ('{"other":{"0":1}}', "offsets.position"),
        ('{"clicks":', "offsets.position"),
        ("soon", "time.invalid"),
        ("2033-01-01T00:00", "offsets.future"),
    ],
)
def test_a_place_that_is_not_there_is_refused(house: House, monkeypatch: pytest.MonkeyPatch, position: str, code: str) -> None:
    savepoint = saved(house)
    answer(monkeypatch, BROKER)
    refused(house, Fork(savepoint.id, name="b", offsets={"0": position}), code)
    if code == "time.invalid":
        with pytest.raises(TidemarkError, check=lambda raised: raised.hint.startswith("Write latest, earliest, a time")):
            house.face.plan(Fork(savepoint.id, name="b", offsets={"0": position}))


def test_a_broker_that_is_away_or_unknown_moves_nothing(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    savepoint = saved(house)
    answer(monkeypatch, Unavailable("kafka.away", "It does not answer", "Start it."))
    refused(house, Fork(savepoint.id, name="b", offsets={"0": "latest"}), "kafka.away")


def test_a_broker_with_a_sign_in_is_refused(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    savepoint = saved(house, "SASL_SSL://kafka:9093")
    answer(monkeypatch, BROKER)
    refused(house, Fork(savepoint.id, name="b", offsets={"0": "latest"}), "offsets.broker")


def test_state_is_not_rewritten_at_the_same_time(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    savepoint = saved(house)
    answer(monkeypatch, BROKER)
    refused(house, Fork(savepoint.id, name="b", offsets={"0": "latest"}, partitions=4), "offsets.rewriting")


def refused(house: House, fork: Fork, code: str) -> None:
    with pytest.raises(TidemarkError) as error:
        house.face.plan(fork)
    assert error.value.code == code


def test_a_comparison_says_that_one_has_read_other_input(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    savepoint = saved(house)
    answer(monkeypatch, BROKER)
    fork = do(house.face, Fork(savepoint.id, name="b", offsets={"0": "latest"}))
    output = house.face.layout.output(JobName("a")) / "counts"
    for part in output.glob("*.parquet"):  # golden outputs have no rows
        pq.write_table(pa.table({"k": [1]}), part)
    house.append(fork, QUERIES_FILE, query_line(f"{fork.checkpoints}/counts", str(output)))
    house.see(fork, RunState.RUNNING)
    assert "b has read other input than its parent: source 0 of counts" in house.face.ask(Compare("a", "b")).note
