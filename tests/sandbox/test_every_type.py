"""State of every type that Spark has: read, compared and looked up by what is shown of it, by real Spark."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.catalog import outputs, state_differences, states
from pipelines.domain.json_text import read_exactly
from pipelines.domain.state_differences import KeyChanges
from pipelines.driver import destinations
from pipelines.driver.intercept import Asked
from pipelines.sandbox import lookup, reading
from pipelines.sandbox.counts import TASK_FORMAT, Store
from pipelines.sandbox.lookup import NoSuchKeyColumns
from pipelines.sandbox.lookups import LookUpTask
from pipelines.sandbox.readings import ROWS_FOLDER, ReadTask
from pipelines.verbs.state import QueryState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 2
KEYS = {
    "moment": "timestamp_micros(1767225600000000 + i * 1001)",
    "day": "date_add(DATE'2026-01-01', i)",
    "money": "CAST(12345678901234567.123456789012345678 + i AS DECIMAL(38,18))",
    "number": "element_at(array(CAST('NaN' AS DOUBLE), -0.0D, 1.5D, CAST('Infinity' AS DOUBLE)), i + 1)",
    "text": "IF(i = 0, NULL, concat('k', i))",
    "flag": "IF(i = 1, NULL, i % 2 = 0)",
    "bytes": "unhex(concat('00ff', lpad(i, 2, '0')))",
    "list": "array(i, NULL)",
    "pair": "IF(i = 2, NULL, named_struct('a', i, 'b', IF(i = 1, NULL, 'x')))",
    "local": "CAST(timestamp_micros(1767225600000000 + i * 1001) AS TIMESTAMP_NTZ)",
    "waited": "make_dt_interval(i, 1, 2, 3.5)",
    "age": "make_ym_interval(i, 3)",
    "clock": "make_time(10, i, 3.123456)",
    "code": "CAST(concat('c', i) AS CHAR(5))",
}
"""Column of the key -> its value in row i; the commonest types first."""
VALUES = {
    "document": 'parse_json(concat(\'{"a": \', i + v, \', "b": [1, null, "1"]}\'))',
    "documents": "array(parse_json('1'), parse_json('\"1\"'), NULL)",
    "nested": "map('a', array(named_struct('x', CAST(i AS DECIMAL(38,18)), 'y', INTERVAL '1 02:03:04.5' DAY TO SECOND)), 'b', NULL)",
    "long": "concat(repeat('x', 1000000), v)",
    "total": "IF(v = 0, 0.000000000000000001, 1.000000000000000001)",
    "calendar": "make_interval(1, i, 0, 1, 2, 3, 4.5)",
}
"""Column of the value -> what the newest row of a key has of it."""
READ = {
    "moment": 1_767_225_600_001.001,
    "day": 1_767_312_000_000,
    "money": "12345678901234568.123456789012345678",
    "number": 0.0,
    "text": "k1",
    "flag": None,
    "bytes": "AP8B",
    "list": [1, None],
    "pair.a": 1,
    "pair.b": None,
    "local": 1_767_225_600_001.001,
    "waited": "INTERVAL '1 01:02:03.5' DAY TO SECOND",
    "age": "INTERVAL '1-3' YEAR TO MONTH",
    "clock": "10:01:03.123456",
    "code": "c1",
}
"""The key of the second row as a page and an answer of REST have it; times in epoch ms."""
CALENDAR = "1 years 1 months 1 days 2 hours 3 minutes 4.5 seconds"
HELD = ('{"a":1,"b":[1,null,"1"]}', ["1", '"1"', None], "x" * 1_000_000 + "0", 1e-18, CALENDAR)
"""What is among its values."""


@dataclass(frozen=True)
class Kept:
    """The state of a query by all of these keys, at its newest batch."""

    spark: SparkSession
    folder: Path

    @property
    def store(self) -> Store:
        return Store("q", str(self.folder / "checkpoint"), self.batch, "rocksdb", 1, 0, "stateStoreSave", "default")

    @property
    def batch(self) -> int:
        return max(int(path.name) for path in (self.folder / "checkpoint" / "commits").iterdir() if path.name.isdigit())

    def goes_on(self, rows: list[dict[str, int]]) -> None:
        (self.folder / "in").mkdir(exist_ok=True)
        (self.folder / "in" / f"{len(list((self.folder / 'in').iterdir()))}.json").write_text("\n".join(map(json.dumps, rows)))
        session = self.spark.newSession()
        type(session)._get_j_spark_session_class(session._jvm).setActiveSession(session._jsparkSession)  # whom Spark asks
        for changed in (self.spark, session):
            changed.conf.set("spark.sql.timeType.enabled", "true")
        session.conf.set("spark.sql.shuffle.partitions", str(PARTITIONS))
        session.conf.set("spark.sql.session.timeZone", "UTC")
        session.conf.set("spark.sql.streaming.stateStore.providerClass", PROVIDER)
        read = session.readStream.schema("i INT, v INT").json(str(self.folder / "in"))
        keyed = read.selectExpr("*", *(f"{sql} AS {name}" for name, sql in (KEYS | VALUES).items()))
        newest = keyed.groupBy(*KEYS).agg(*(last(name) for name in VALUES))
        stream = newest.writeStream.outputMode("update").format("noop").option("checkpointLocation", str(self.folder / "checkpoint"))
        stream.trigger(availableNow=True).start().awaitTermination()

    def read(self) -> list[str]:
        """The files of a reading."""
        folder = self.folder / f"read-{self.batch}"
        folder.mkdir()
        reading.read(self.spark, ReadTask(TASK_FORMAT, "test", "local[2]", {}, self.store, "", 1_000), folder)
        return [str(path) for path in sorted((folder / ROWS_FOLDER).glob("*.parquet"))]

    def looked_up(self, key: dict[str, str | None]) -> Any:
        return lookup.look_up(self.spark, LookUpTask(TASK_FORMAT, "test", "local[2]", {}, self.store, "", PARTITIONS, key))


PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def last(name: str) -> Any:
    from pyspark.sql import functions as F

    return F.max_by(name, "v").alias(name)


def typed(key: dict[str, Any]) -> dict[str, str | None]:
    """A key as somebody types it who sees it as JSON."""
    return {name: value if value is None or isinstance(value, str) else json.dumps(value) for name, value in key.items()}


def shown(kept: Kept) -> list[dict[str, Any]]:
    """All rows of the table as a look-up shows them."""
    table = reading.table(kept.spark, kept.store, "")
    table.sparkSession.conf.set("spark.sql.session.timeZone", "UTC")
    return [read_exactly(text) for (text,) in reading.named(table).select(reading.as_json("*")).collect()]


@pytest.mark.spark
def test_every_type_is_read_compared_and_found_by_what_is_shown(spark: SparkSession, tmp_path: Path) -> None:
    kept = Kept(spark, tmp_path)
    kept.goes_on([{"i": i, "v": 0} for i in range(4)])
    before = kept.read()
    answer = states.query({states.STATE: before}, QueryState("sp-1", sort="key.day", limit=4))
    row = dict(zip((column.name for column in answer.columns), answer.rows[1], strict=True))
    values = [value for name, value in row.items() if name.startswith("value.")]
    assert {name: row[f"key.{name}"] for name in READ} == READ
    assert all(value in values for value in HELD), HELD

    rows = shown(kept)
    assert len(rows) == 4
    for key_row in rows:
        key_found = kept.looked_up(typed(key_row["key"]))
        assert (key_found.rows, key_found.partition) == ((key_row,), key_row["partition_id"])
    key = typed(rows[0]["key"])
    assert kept.looked_up(key | {"text": "nobody"}).rows == ()
    for column, says in (("bytes", "(in base64)"), ("list", "(as JSON)"), ("clock", "is no time(6)")):
        with pytest.raises(NoSuchKeyColumns) as refused:
            kept.looked_up(key | {column: "?"})
        assert says in str(refused.value)

    kept.goes_on([{"i": 1, "v": 1}])
    summary, examples = state_differences.compare(before, kept.read(), False, str(tmp_path / "rows.parquet"), lambda _: None, 5)
    assert (summary["keys_a"], summary["keys_b"], summary["changes"]) == (4, 4, KeyChanges(0, 0, 1))
    (change,) = examples.rows["changed"]
    values = list(change.values())
    assert HELD[0] in values and '{"a":2,"b":[1,null,"1"]}' in values and "1.000000000000000001" in values


TIMES = (
    "DAY",
    "DAY TO HOUR",
    "DAY TO MINUTE",
    "DAY TO SECOND",
    "HOUR",
    "HOUR TO MINUTE",
    "HOUR TO SECOND",
    "MINUTE",
    "MINUTE TO SECOND",
    "SECOND",
)
MONTHS = ("YEAR", "YEAR TO MONTH", "MONTH")


@pytest.mark.spark
def test_intervals_of_outputs_are_shown_as_spark_writes_them(spark: SparkSession, tmp_path: Path) -> None:
    """Those of every kind that there is, below and above zero, with whole seconds and without."""
    number = "array(0L, 9007199254740993L, -93784500000L, 3723000000L, -1L)[id]"
    times = [
        f"CAST(make_dt_interval(0, 0, 0, CAST({number} AS DECIMAL(38, 6)) / 1000000) AS INTERVAL {kind}) AS t{at}"
        for at, kind in enumerate(TIMES)
    ]
    months = [f"CAST(make_ym_interval(0, CAST({number} % 100 AS INT)) AS INTERVAL {kind}) AS m{at}" for at, kind in enumerate(MONTHS)]
    rows = spark.range(5).selectExpr("CAST(id AS INT) AS id", *times, *months)
    texts = [f"CAST({name} AS STRING) AS s{name}" for name in rows.columns[1:]]
    rows.selectExpr("*", *texts).coalesce(1).write.parquet(str(tmp_path / "rows"))
    files = [str(path) for path in (tmp_path / "rows").glob("*.parquet")]
    (*shown,) = outputs.compare(files, []).examples["only_a"]
    assert len(shown) == 5
    for row in shown:
        assert {name: row[name] for name in rows.columns[1:]} == {name: row[f"s{name}"] for name in rows.columns[1:]}


WRITINGS: dict[str, dict[str, str]] = {
    "as Spark does": {},
    "all quoted": {"quoteAll": "true"},
    "other marks": {"sep": ";", "escape": "^", "nullValue": "NULL"},
    "two marks for one": {"escape": '"', "timestampFormat": "dd.MM.yyyy HH:mm:ss.SSSSSS", "timestampNTZFormat": "yyyyMMdd HHmmss.SSSSSS"},
    "times of a zone": {"timeZone": "America/New_York", "timestampFormat": "EEE MMM d yyyy h:mm:ss.SSSSSS a Z", "dateFormat": "d/M/yyyy"},
    "sections": {"timestampFormat": "yyyy-MM-dd'at'HH:mm:ss[.SSSSSS][XXX]", "timestampNTZFormat": "yyyy-MM-dd HH:mm:ss[.SSSSSS][XXX]"},
}
TEXTS = (
    "plain", r"a\b", r"a\b,c;", 'a"b', r'a"b\c', '"q"', "'q';", "q\\", "q,\\", 'q"\\', r"\"",
    r'\\"x', r'{"k":"a\nb"}', "a\nb", 'a\r\n"b', "", None,
    "ünï\"\\é", "\\", '"', '""', r"\,", "#c", "^'", "NULL,", "a,'b", "10", "2026-01-01",
)  # fmt: skip


@pytest.mark.spark
def test_csv_outputs_are_compared_as_spark_wrote_them(spark: SparkSession, tmp_path: Path) -> None:
    """In each way that a sink's options say, as a driver notes them: all rows are those of the first."""
    times = (
        "timestamp_micros(1769904000123000 + id * 3600000000) AS at",
        "date_add(DATE'2026-02-01', CAST(id AS INT)) AS day",
        "CAST('2026-01-01 10:11:12.013' AS TIMESTAMP_NTZ) AS there",
    )
    rows = spark.createDataFrame(list(enumerate(TEXTS)), "id LONG, text STRING").selectExpr("*", *times).coalesce(1)
    sides = {}
    for name, options in WRITINGS.items():
        folder = str(tmp_path / name)
        rows.write.options(**options).csv(folder)
        asked = Asked(format="csv", options={"path": folder, **{option.lower(): value for option, value in options.items()}})
        noted = destinations.of(spark, asked, "file:///").options
        sides[name] = [str(path) for path in Path(folder).glob("*.csv")], noted
    files, options = sides["as Spark does"]
    for name, (others, noted) in sides.items():
        comparison = outputs.compare(files, others, format="csv", options=(options, noted))
        lost = 1 if name == "all quoted" else 0  # Spark itself writes no difference between nothing and an empty text there
        assert (comparison.rows_a, comparison.rows_b, comparison.equal) == (len(TEXTS), len(TEXTS), len(TEXTS) - lost), (name, comparison)
