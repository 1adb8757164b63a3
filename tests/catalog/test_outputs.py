from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.catalog import output_files, spark_notes
from pipelines.catalog.connection import scratch
from pipelines.catalog.output_files import Options
from pipelines.catalog.outputs import compare
from pipelines.domain.errors import Corrupt, Incompatible, Invalid, TidemarkError, Unsupported
from pipelines.domain.experiments import Comparison
from pipelines.storage.addresses import open_storage
from tests.catalog.csv_texts import write

VARIANTS, CSV = (Path(__file__).parent / name for name in ("variants", "csv_texts"))
"""What `write.py` there had two Sparks write."""
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOON_MS = int(NOON.timestamp() * 1000)
TYPES = {"window_end": pa.timestamp("us", tz="UTC"), "post_id": pa.string(), "views": pa.int64(), "score": pa.float64()}

Row = tuple[datetime | None, str | None, int | None, float | None]


def minute(n: int) -> datetime:
    return NOON + timedelta(minutes=n)


def written(path: Path, rows: list[Row]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
    pq.write_table(pa.table({name: pa.array(c, kind) for (name, kind), c in zip(TYPES.items(), columns, strict=True)}), path)
    return str(path)


def table(path: Path, **columns: Any) -> str:
    pq.write_table(pa.table(columns), path)
    return str(path)


def numbers(comparison: Comparison) -> tuple[int, ...]:
    return (comparison.rows_a, comparison.rows_b, comparison.equal, comparison.only_a, comparison.only_b, comparison.changed)


A_ROWS: list[Row] = [(minute(0), "p1", 1, 0.5), (minute(0), "p2", 2, None), (minute(1), "p1", 3, 1.0), (minute(2), "p9", 9, 9.0)]
B_ROWS: list[Row] = [(minute(0), "p1", 1, 0.5), (minute(0), "p2", 5, None), (minute(1), "p1", 3, 1.0), (minute(3), "p7", 7, 7.0)]


def test_rows_are_matched_by_the_key_that_is_found(tmp_path: Path) -> None:
    a = [written(tmp_path / "a1", A_ROWS[:2]), written(tmp_path / "a2", A_ROWS[2:])]
    comparison = compare(a, [written(tmp_path / "b", B_ROWS)])
    assert comparison.columns == ("window_end", "post_id", "views", "score")
    assert comparison.keys == ("window_end", "post_id")
    assert numbers(comparison) == (4, 4, 2, 1, 1, 1)
    assert comparison.examples["changed"] == [
        {"window_end": "2026-01-01 12:00:00+00", "post_id": "p2", "a.views": 2, "b.views": 5},
    ]
    assert comparison.examples["only_a"] == [{"window_end": "2026-01-01 12:02:00+00", "post_id": "p9", "views": 9, "score": 9.0}]
    assert [row["post_id"] for row in comparison.examples["only_b"]] == ["p7"]
    assert comparison.note == ""
    assert comparison.over_time is not None
    assert comparison.over_time.time_column == "window_end"
    assert comparison.over_time.t == tuple(NOON_MS + n * 60_000 for n in range(4))
    assert comparison.over_time.a["views"] == (3.0, 3.0, 9.0, None)
    assert comparison.over_time.b["views"] == (6.0, 3.0, None, 7.0)
    json.dumps(comparison.examples, allow_nan=False)


def test_only_rows_that_both_reached_count(tmp_path: Path) -> None:
    a, b = [written(tmp_path / "a", [*A_ROWS, (None, "p0", 0, 0.0)])], [written(tmp_path / "b", B_ROWS)]
    comparison = compare(a, b, until_ms=NOON_MS + 60_000)
    assert numbers(comparison) == (3, 3, 2, 0, 0, 1)
    assert comparison.until_ms == NOON_MS + 60_000
    assert numbers(compare(a, b, until_ms=NOON_MS - 1)) == (0, 0, 0, 0, 0, 0)


def test_without_a_unique_key_rows_are_a_multiset(tmp_path: Path) -> None:
    rows: list[Row] = [(minute(0), "p1", 1, 1.0)] * 3
    comparison = compare([written(tmp_path / "a", rows)], [written(tmp_path / "b", [*rows[:1], (minute(0), "p1", 2, 1.0)])])
    assert comparison.keys == ()
    assert numbers(comparison) == (3, 2, 1, 2, 1, 0)
    assert "window_end, post_id have the same values in several rows" in comparison.note
    assert len(comparison.examples["only_a"]) == len(comparison.examples["only_b"]) == 1
    assert comparison.examples["changed"] == []


def test_keys_that_are_asked_for(tmp_path: Path) -> None:
    a = [table(tmp_path / "a", n=[1, 2], v=[1.0, math.nan])]
    b = [table(tmp_path / "b", n=[1, 2], v=[2.0, math.nan])]
    assert "No column can be a key" in compare(a, b).note
    comparison = compare(a, b, keys=["n"])
    assert (comparison.keys, numbers(comparison)) == (("n",), (2, 2, 1, 0, 0, 1))
    assert comparison.examples["changed"] == [{"n": 1, "a.v": 1.0, "b.v": 2.0}]
    with pytest.raises(Invalid) as refused:
        compare(a, b, keys=["n", "missing"])
    assert refused.value.code == "compare.keys"


def test_examples_are_few_and_json(tmp_path: Path) -> None:
    odd = {"id": list(range(50)), "b": [b"\xff"] * 50, "n": [math.inf] * 50, "l": [[1, None]] * 50, "d": [NOON.date()] * 50}
    comparison = compare([table(tmp_path / "a", **odd)], [], examples=3)
    assert [row["id"] for row in comparison.examples["only_a"]] == [0, 1, 2]
    assert comparison.examples["only_a"][0]["d"] == "2026-01-01"
    assert comparison.examples["only_a"][0]["n"] == "Infinity"
    json.dumps(comparison.examples, allow_nan=False)
    assert compare([table(tmp_path / "a", **odd)], [], examples=0).examples["only_a"] == []


def test_columns_of_one_side_are_named_and_left_out(tmp_path: Path) -> None:
    a = [table(tmp_path / "a", post_id=["p"], views=pa.array([1], pa.int32()), kind=["x"])]
    b = [table(tmp_path / "b", paid=[4], views=[1.0], post_id=["p"])]
    comparison = compare(a, b)
    assert (comparison.columns, numbers(comparison)) == (("post_id", "views"), (1, 1, 1, 0, 0, 0))
    assert "Only A has the columns kind" in comparison.note
    assert "Only B has the columns paid" in comparison.note
    assert "views (INTEGER in A, DOUBLE in B)" in comparison.note


def test_names_of_ours_in_their_columns_do_no_harm(tmp_path: Path) -> None:
    columns = {"t": ["x"], "is_b": [1], "c1": [2], "in_a": [3], 'quo"te': [4], "select": [5]}
    comparison = compare([table(tmp_path / "a", **columns)], [table(tmp_path / "b", **columns | {"in_a": [9]})])
    assert (comparison.keys, numbers(comparison)) == (("t",), (1, 1, 0, 0, 0, 1))
    assert comparison.examples["changed"] == [{"t": "x", "a.in_a": 3, "b.in_a": 9}]


def test_no_output_yet(tmp_path: Path) -> None:
    a = [written(tmp_path / "a", A_ROWS)]
    none = compare([], [])
    assert (numbers(none), none.columns, none.over_time) == ((0,) * 6, (), None)
    assert none.note == "A has no output yet. B has no output yet."
    assert numbers(compare(a, [])) == (4, 0, 0, 4, 0, 0)
    assert numbers(compare([], a)) == (0, 4, 0, 0, 4, 0)
    assert numbers(compare(a, [written(tmp_path / "b", [])])) == (4, 0, 0, 4, 0, 0)


def test_what_cannot_be_compared_says_why(tmp_path: Path) -> None:
    a = written(tmp_path / "a", A_ROWS)
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(b"PAR1 no more")
    torn = tmp_path / "torn.json"
    torn.write_text('{"post_id": "p"')
    cases: list[tuple[type[TidemarkError], str, Any]] = [
        (Corrupt, "compare.file_missing", lambda: compare([a, str(tmp_path / "gone")], [a])),
        (Corrupt, "compare.file_damaged", lambda: compare([a, str(damaged)], [a])),
        (Corrupt, "compare.file_damaged", lambda: compare([str(torn)], [], format="json")),
        (Unsupported, "compare.format", lambda: compare([a], [a], format="avro")),
        (Unsupported, "compare.remote", lambda: compare(["gs://bucket/part"], [a])),
        (Incompatible, "compare.columns", lambda: compare([a], [table(tmp_path / "b", other=[1])])),
        (Incompatible, "compare.types", lambda: compare([a], [table(tmp_path / "c", views=[{"x": 1}])])),
        (Invalid, "compare.time_column", lambda: compare([a], [a], time_column="views")),
    ]
    for group, code, ask in cases:
        with pytest.raises(group) as refused:
            ask()
        assert (refused.value.code, bool(refused.value.hint)) == (code, True)


@pytest.mark.parametrize("home", ["s3", "hdfs"])
def test_files_at_a_home_are_compared_as_those_of_a_disk(tmp_path: Path, home: str, request: pytest.FixtureRequest) -> None:
    """With names as Spark gives them: a partition's value quoted in the name, and the name quoted in the sink's log."""
    storage = open_storage(f"{request.getfixturevalue(f'{home}_url')}/out")
    here = [written(tmp_path / name, rows) for name, rows in (("a", A_ROWS), ("b", B_ROWS))]
    there = []
    for path in here:
        name = f"{Path(path).name}/kind=a%20[b]/part 0.parquet"
        storage.write(name, Path(path).read_bytes())
        there.append(f"{storage.url.replace('s3://', 's3a://')}/{quote(name, safe='/=[]')}")
    local = compare([here[0]], [here[1]])
    assert local.differs and numbers(compare([there[0]], [there[1]])) == numbers(compare([there[0]], [here[1]])) == numbers(local)
    with pytest.raises(Corrupt) as gone:
        compare([there[0], f"{there[0]}.gone"], [here[1]])
    assert gone.value.code == "compare.file_missing"


@pytest.mark.parametrize("home", ["s3", "hdfs"])
def test_json_at_a_home_is_compared(tmp_path: Path, home: str, request: pytest.FixtureRequest) -> None:
    storage = open_storage(f"{request.getfixturevalue(f'{home}_url')}/out")
    for name, text in (
        ("a/0.json", '{"k":"p","v":2}\n{"k":"q","v":2}\n'),
        ("a/1.json", ""),
        ("b/0.json", '{"k":"p","v":2}\n{"k":"q","v":3}\n'),
    ):
        storage.write(name, text.encode())
    comparison = compare([f"{storage.url}/a/0.json", f"{storage.url}/a/1.json"], [f"{storage.url}/b/0.json"], format="json")
    assert numbers(comparison) == (2, 2, 1, 0, 0, 1)


def test_a_window_struct_is_key_and_time(tmp_path: Path) -> None:
    def windows(views: int) -> dict[str, Any]:
        return {"window": [{"start": minute(n), "end": minute(n + 1)} for n in range(2)], "views": [1, views]}

    comparison = compare([table(tmp_path / "a", **windows(2))], [table(tmp_path / "b", **windows(3))])
    assert (comparison.keys, numbers(comparison)) == (("window",), (2, 2, 1, 0, 0, 1))
    assert comparison.over_time is not None
    assert (comparison.over_time.time_column, comparison.over_time.t[0]) == ("window.end", NOON_MS + 60_000)
    assert numbers(compare([table(tmp_path / "c", **windows(2))], [], until_ms=NOON_MS + 60_000, time_column="window"))[0] == 1


def test_times_as_int96_are_the_same_times(tmp_path: Path) -> None:
    b = tmp_path / "b"
    pq.write_table(pq.read_table(written(tmp_path / "a", A_ROWS)), b, use_deprecated_int96_timestamps=True)
    comparison = compare([str(tmp_path / "a")], [str(b)], until_ms=NOON_MS + 120_000)
    assert numbers(comparison) == (4, 4, 4, 0, 0, 0)


def test_variants_are_compared_by_their_values_whichever_spark_wrote_them() -> None:
    older, newer = (str(VARIANTS / f"spark-{version}.parquet") for version in ("4.0.1", "4.1.4"))
    comparison = compare([older], [newer])
    assert (numbers(comparison), comparison.columns_apart, comparison.note) == ((6, 6, 5, 0, 0, 1), (), "")
    assert comparison.examples["changed"] == [{"id": 5, "a.v": "4.0.1", "b.v": "4.1.4"}]
    both = compare([older, newer], [newer, older])
    assert numbers(both) == (12, 12, 12, 0, 0, 0)


def test_two_binaries_that_are_no_variant_stay_a_struct_and_variants_inside_of_others_are_refused(tmp_path: Path) -> None:
    binaries = pa.array([{"value": b"1", "metadata": b"2"}], pa.struct([("value", pa.binary()), ("metadata", pa.binary())]))
    plain = table(tmp_path / "plain.parquet", v=binaries)
    assert numbers(compare([plain], [plain])) == (1, 1, 1, 0, 0, 0)
    inner = {"type": "struct", "fields": [{"name": "in", "type": "variant", "nullable": True, "metadata": {}}]}
    note = {"type": "struct", "fields": [{"name": "s", "type": inner, "nullable": True, "metadata": {}}]}
    nested = pa.table({"s": pa.StructArray.from_arrays([binaries], ["in"])}).replace_schema_metadata({spark_notes.NOTE: json.dumps(note)})
    pq.write_table(nested, tmp_path / "nested.parquet")
    with pytest.raises(Unsupported, match=r"column s has VARIANT values as Spark 4\.0 writes them inside of others") as refused:
        compare([str(tmp_path / "nested.parquet")], [plain])
    assert refused.value.code == "compare.variant"


def test_json_and_csv_as_spark_writes_them(tmp_path: Path) -> None:
    for n, views in enumerate((1, 2)):
        (tmp_path / f"{n}.json").write_text(
            "".join(f'{{"window_end":"2026-01-01T12:0{m}:00.000Z","post_id":"p","views":{views if m else 7}}}\n' for m in range(2))
        )
        (tmp_path / f"{n}.csv").write_text("".join(f"2026-01-01T12:0{m}:00.000Z,p,{views if m else 7}\n" for m in range(2)))
    for kind in ("json", "csv"):
        empty = tmp_path / f"empty.{kind}"
        empty.write_text("")
        comparison = compare([str(tmp_path / f"0.{kind}"), str(empty)], [str(tmp_path / f"1.{kind}")], format=kind)
        assert numbers(comparison) == (2, 2, 1, 0, 0, 1), kind
        assert compare([str(empty)], [], format=kind).rows_a == 0
        assert comparison.over_time is not None
        assert len(comparison.over_time.t) == 2


LINES = {"json": '{{"k": "a", "s": "{{\\"x\\": {0}, }}", "x": {{"y": [{{"z": {0}}}, null]}}, "w": {0}}}\n', "csv": "a,{0}\nb,2.5\n"}
PAIRS = {
    "12345678901234567.123456789012345678": "12345678901234567.123456789012345679",
    "999999999999999.99": "999999999999999.98",
    "9007199254740993": "9007199254740992",
    "123456789012345678901234567890": "123456789012345678901234567891",
    "-0.1000000000000000055": "-0.1000000000000000056",
    "1.00000000000000001E-10": "1.00000000000000002E-10",
    "9007199254740993.0E300": "9007199254740992.0E300",
    "0.30000000000000004": "0.30000000000000005",
}
"""Two numbers each, of which most are one DOUBLE."""


@pytest.mark.parametrize("format", LINES)
@pytest.mark.parametrize("number", PAIRS)
def test_two_numbers_of_json_and_csv_are_never_one(tmp_path: Path, number: str, format: str) -> None:
    files = {}
    for text in (
        number,
        PAIRS[number],
        "0.5",
        number.replace("E", "00E") if "." in number and "E" in number else f"{number}00" if "." in number else f"{number}.0",
    ):
        files[text] = str(tmp_path / f"{len(files)}.{format}")
        Path(files[text]).write_text(LINES[format].format(text))
    one, other, short, again = files.values()
    for a, b, is_same in (
        (one, one, True),
        (one, other, False),
        (short, one, False),
        (one, short, False),
        (one, again, "E300" not in number),
    ):
        comparison = compare([a], [b], format=format)
        whole = comparison.only_a + comparison.changed
        texts = format == "json" and a != b
        assert (whole == 0) is (is_same and not texts), (a, b, comparison)
        if is_same and texts:
            (change,) = comparison.examples["changed"] or [*comparison.examples["only_a"]]
            assert "b.w" not in change and "b.x" not in change
        assert (" are compared as they are written" in comparison.note) is ("E300" in number)


def test_examples_have_all_digits(tmp_path: Path) -> None:
    a, b = (tmp_path / "a.json", tmp_path / "b.json")
    for file, end in ((a, 8), (b, 9)):
        file.write_text(f'{{"id": 1, "x": 12345678901234567.12345678901234567{end}, "n": 2.5}}\n{{"id": 2, "x": null, "n": 1E-7}}\n')
    comparison = compare([str(a)], [str(b)], format="json")
    assert comparison.examples["changed"] == [
        {"id": 1, "a.x": f"12345678901234567.12345678901234567{8}", "b.x": f"12345678901234567.12345678901234567{9}"}
    ]
    assert (comparison.columns, comparison.columns_apart, comparison.note) == (("id", "x", "n"), (), "")
    assert compare([str(a)], [], format="json").rows_a == 2


@pytest.mark.parametrize("format", ["json", "csv"])
def test_what_comes_after_the_first_rows_counts_too(tmp_path: Path, format: str) -> None:
    """DuckDB's samples are of 20,480 rows and of 32 files."""
    line = '{{"n": {}}}\n' if format == "json" else "{}\n"
    rows = "".join(line.format(n) for n in range(30_000))
    a, b = tmp_path / f"a.{format}", tmp_path / f"b.{format}"
    a.write_text(rows + line.format("1.5"))
    b.write_text(rows + line.format("2"))
    assert numbers(compare([str(a)], [str(b)], format=format))[:5] == (30_001, 30_001, 30_000, 1, 1)
    if format == "json":
        many = [tmp_path / f"{n}.json" for n in range(40)]
        for n, file in enumerate(many):
            file.write_text('{"n": 1, "more": 1}\n' if n == 39 else '{"n": 1}\n')
        assert "Only A has the columns more" in compare([str(file) for file in many], [str(b)], format="json").note


@pytest.mark.parametrize(
    ("first", "one", "other"),
    [
        ("2024-01-01", "2024-01-02T10:00:00Z", "2024-01-02T11:00:00Z"),
        ("2024-01-01T10:00:00Z", "2024-01-01T10:00:00.0000001Z", "2024-01-01T10:00:00.0000002Z"),
        ("10:00:00", "10:00:00.0000001", "10:00:00.0000002"),
        ("123e4567-e89b-12d3-a456-42661417400a", "123e4567-e89b-12d3-a456-4266141740aa", "123e4567-e89b-12d3-a456-4266141740AA"),
    ],
)
def test_two_texts_of_json_are_never_one(tmp_path: Path, first: str, one: str, other: str) -> None:
    """DuckDB takes texts for dates and the like, by its first files."""
    before = [tmp_path / f"{n:02d}.json" for n in range(20)]
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    for file, text in (*((file, first) for file in before), (a, one), (b, other)):
        file.write_text(f'{{"text": "{text}"}}\n')
    sides = ([*map(str, before), str(file)] for file in (a, b))
    assert numbers(compare(*sides, format="json"))[:3] == (21, 21, 20)


def of_csv(folder: Path, a: Sequence[str], b: Sequence[str], options: tuple[Options, Options] = (None, None)) -> Comparison:
    """A comparison of files with these texts."""
    sides = []
    for name, texts in (("a", a), ("b", b)):
        files = [folder / f"{name}{at}.csv" for at in range(len(texts))]
        for file, text in zip(files, texts, strict=True):
            file.write_text(text)
        sides.append([str(file) for file in files])
    return compare(*sides, format="csv", options=options)


ONE, TWO = "2026-01-01T00:00:00.123456", "2026-01-01T00:00:00.123457"
VALUES = {
    "digits that no TIMESTAMP holds": (f"{ONE}789Z", f"{ONE}788Z", False, ""),
    "without a zone": (f"{ONE}789", f"{ONE}788", False, ""),
    "microseconds": (f"{ONE}000Z", f"{TWO}000Z", False, ""),
    "another writing of one moment": (f"{ONE}Z", f"{ONE}000Z", True, "are not all written in one way"),
    "zones": ("2026-01-01T00:00:00.000Z", "2026-01-01T02:00:00.000+02:00", True, "are not all written in one way"),
    "dates of an own format": ("01/02/2026", "02/01/2026", False, ""),
    "times of an own format": ("01.02.2026 01:00 AM", "01.02.2026 01:00 PM", False, ""),
    "names of zones": ("2026-01-01 00:00:00 CET", "2026-01-01 01:00:00 EET", False, ""),
    "times of the day": ("10:11:12.123456789", "10:11:12.123456788", False, ""),
    "a date and a text": ("2026-01-01", "2026-1-1", False, "Of other type"),
    "a day with 24 hours": ("2026-01-01 24:00:00", "2026-01-02 00:00:00", False, "Of other type"),
    "truths": ("true", "t", False, ""),
    "hexadecimal numbers": ("0x10", "16", False, "Of other type"),
    "numbers that begin with 0": ("007", "7", False, "Of other type"),
    "a text and no value": ('""', "", False, ""),
    "backslashes": ('"{\\"k\\":\\"a\\nb\\"}"', '"{\\"k\\":\\"anb\\"}"', True, "Single backslashes in quoted texts"),
    "backslashes that are written twice": ('"a\\\\b,c"', '"a\\\\c,c"', False, ""),
    "one backslash in a quoted text": ('"a\\b,c"', '"a\\c,c"', False, ""),
}
"""Two texts, whether they are one value, and what is said."""


@pytest.mark.parametrize("name", VALUES)
def test_texts_of_csv_are_times_and_numbers_only_as_spark_writes_those(tmp_path: Path, name: str) -> None:
    one, other, is_same, note = VALUES[name]
    comparison = of_csv(tmp_path, [f"1,{one}\n"], [f"1,{other}\n"])
    assert (comparison.equal == 1) is is_same, comparison
    assert note in comparison.note if note else comparison.note == ""
    same = of_csv(tmp_path, [f"1,{one}\n"], [f"1,{one}\n"])
    assert (same.rows_a, same.equal, "written in one way" in same.note) == (1, 1, False)


IN_UTC, IN_BERLIN = ({"timezone": zone} for zone in ("UTC", "Europe/Berlin"))
OF_SPARK = "2026-02-01T10:00:00.000Z"
DOTS, SLASHES = {"timestampformat": "dd.MM.yyyy HH:mm:ss"}, {"dateformat": "MM/dd/yyyy"}
AS_TIMES, AS_TEXTS = "compared as the times that they are", "compared as texts, so rows differ by that alone"
FORMS: dict[str, tuple[tuple[str, Options], tuple[str, Options], bool, tuple[str, ...]]] = {
    "a pattern, and none": (
        ("01.02.2026 10:00:00", IN_UTC | DOTS),
        (OF_SPARK, IN_UTC), True, ("dd.MM.yyyy HH:mm:ss in A", OF_SPARK, AS_TIMES),
    ),
    "other moments": (("01.02.2026 10:00:01", IN_UTC | DOTS), (OF_SPARK, IN_UTC), False, (AS_TIMES,)),
    "without a zone, not of UTC": (
        ("01.02.2026 10:00:00", IN_BERLIN | DOTS),
        (OF_SPARK, IN_UTC), False, ("in Europe/Berlin in A", AS_TEXTS),
    ),
    "without a zone, in one": (
        ("01.02.2026 10:00:00", IN_BERLIN | DOTS), ("20260201100000", IN_BERLIN | {"timestampformat": "yyyyMMddHHmmss"}), True, (AS_TIMES,),
    ),
    "offsets": (
        ("1/2/2026 12:00+0200", IN_UTC | {"timestampformat": "d/M/yyyy HH:mmxx"}),
        ('"Feb 01 2026, 10:00 AM Z"', IN_UTC | {"timestampformat": "MMM dd yyyy',' hh:mm a XXX"}),
        True,
        (AS_TIMES,),
    ),
    "sections that may be left out": (
        ("2026-02-01 10:00:00.5", IN_UTC | {"timestampntzformat": "yyyy-MM-dd HH:mm:ss[.S][XXX]"}),
        ("2026-02-01T10:00:00.500", IN_UTC),
        True,
        (AS_TIMES,),
    ),
    "days, then months": (
        ("02/01/2026", IN_UTC | {"dateformat": "dd/MM/yyyy"}),
        ("01/02/2026", IN_UTC | SLASHES), True, ("MM/dd/yyyy in B",),
    ),
    "one pattern": (("01/02/2026", IN_UTC | SLASHES), ("02/01/2026", IN_UTC | SLASHES), False, ()),
    "a pattern that says too little": (("01/02/26", IN_UTC | {"dateformat": "dd/MM/yy"}), ("01/02/26", IN_UTC), True, ()),
    "nothing known": (("01/02/2026 10:00", None), ("2026-02-01", None), False, ("'01/02/2026 10:00' in A", "'2026-02-01' in B", AS_TEXTS)),
    "nothing known of one": (("01/02/2026", IN_UTC | SLASHES), ("01/02/2026", None), True, ()),
    "texts": (("10.0.0.1", None), ("10.0.1", None), False, ()),
    "another mark between, and a word for nothing": (("NULL;x", IN_UTC | {"sep": ";", "nullvalue": "NULL"}), (",x", IN_UTC), True, ()),
    "names": (("x", IN_UTC), ('"x"', IN_UTC | {"quote": '"', "escape": '"'}), True, ()),
}  # fmt: skip
"""A text of each side with the options of its sink, whether they are one value, and what is said."""


@pytest.mark.parametrize("name", FORMS)
def test_times_of_csv_are_read_as_the_job_wrote_them_or_told_of(tmp_path: Path, name: str) -> None:
    (a, of_a), (b, of_b), is_same, said = FORMS[name]
    comparison = of_csv(tmp_path, [f"{a}\n"], [f"{b}\n"], (of_a, of_b))
    assert (comparison.equal == 1) is is_same, comparison
    assert all(words in comparison.note for words in said), comparison.note
    assert said or "written as" not in comparison.note
    assert of_csv(tmp_path, [f"{a}\n"], [f"{a}\n"], (of_a, of_a)).equal == 1


def test_the_first_line_has_names_where_the_job_wrote_them(tmp_path: Path) -> None:
    named = IN_UTC | {"header": "true"}
    assert of_csv(tmp_path, ["k,v\na,b\n"], ["k,v\na,c\n"], (named, named)).columns == ("k", "v")
    assert of_csv(tmp_path, ["k,v\na,1\n"], ["k,v\na,2\n"], (IN_UTC, IN_UTC)).rows_a == 2


@pytest.mark.parametrize("written", write.OPTIONS)
def test_texts_of_csv_are_those_that_spark_wrote(tmp_path: Path, written: str) -> None:
    """Each of them, whatever marks and ends of lines are in it, whether its sink's options are known or not."""
    kept = write.TEXTS if written == "with_blanks" else [text and text.strip(" ") for text in write.TEXTS]
    rows = [("" if text is None and written == "all_quoted" else text) for text in kept]  # Spark itself writes no difference there
    options = IN_UTC | {name.lower(): value for name, value in write.OPTIONS[written].items()}
    for known in (options, None):
        with scratch() as db:
            output = output_files.output(db, [str(CSV / f"{written}.csv")], "csv", known)
            assert output is not None
            assert db.execute(f"SELECT * FROM {output.relation} ORDER BY 1").fetchall() == list(enumerate(rows))
    others = compare([str(CSV / f"{written}.csv")], [str(CSV / "plain.csv")], format="csv", options=(options, IN_UTC))
    apart = {"with_blanks": 3, "all_quoted": 1}.get(written, 0)
    assert (others.rows_a, others.equal) == (len(rows), len(rows) - apart) and "ackslashes" not in others.note


LINES_OF_FILES: dict[str, tuple[list[str], list[str], tuple[int, ...], tuple[str, ...], str]] = {
    "texts alone": (["x,y\n", "z,w\n"], ["x,q\nz,w\n"], (2, 2, 1), ("column0", "column1"), ""),
    "one row": (["x\n"], ["y\n"], (1, 1, 0), ("column0",), ""),
    "names": (["k,v\na,1\n", "k,v\nb,2\n"], ["k,v\na,1\n"], (2, 1, 1), ("k", "v"), ""),
    "names, and a column more": (["k,v\na,1\n"], ["k,v,w\na,1,2\n"], (1, 1, 1), ("k", "v"), "Only B has the columns w"),
    "names of files with other columns": (["k,v\na,1\n", "k,v,w\nb,2,3\n"], ["k,v,w\na,1,\n"], (2, 1, 1), ("k", "v", "w"), "(k, v, w)"),
    "names of texts": (["k,v\na,b\n"], ["k,v\na,c\n"], (1, 1, 0), ("k", "v"), "is taken for the names of the columns (k, v)"),
    "ten columns and more": (
        ["a" + ",1" * 9 + "\n"],
        ["a" + ",1" * 10 + "\n"],
        (1, 1, 1),
        tuple(f"column{n}" for n in range(10)),
        "column10",
    ),
    "texts with other marks": (["'a',#x;y\n"], ["'a',#x;z\n"], (1, 1, 0), ("column0", "column1"), ""),
    "lines within a text": (['a,"x\r\ny"\nb,z\n'], ['a,"x\ny"\nb,z\n'], (2, 2, 1), ("column0", "column1"), ""),
    "lines that end otherwise": (["a,1\r\nb,2\r\n"], ["a,1\r\nb,3\r\n"], (2, 2, 1), ("column0", "column1"), ""),
    "rows without a value": (["\na\n"], ["a\n"], (2, 1, 1), ("column0",), ""),
}
"""The files of both sides; rows of A, of B and equal ones; the columns of both, and what is said."""


@pytest.mark.parametrize("name", LINES_OF_FILES)
def test_the_first_line_of_a_csv_file_is_a_row_where_it_may_be_one(tmp_path: Path, name: str) -> None:
    a, b, rows, columns, note = LINES_OF_FILES[name]
    comparison = of_csv(tmp_path, a, b)
    assert (numbers(comparison)[:3], comparison.columns) == (rows, columns)
    assert note in comparison.note if note else comparison.note == ""


def test_only_the_files_given_are_read_and_partitions_above_are_no_columns(tmp_path: Path) -> None:
    def side(name: str) -> list[str]:
        return [written(tmp_path / f"run={name}" / "out[1]*" / f"kind={kind}" / "part", A_ROWS) for kind in "xy"]

    a, b = side("a"), side("b")
    written(tmp_path / "run=a" / "out[1]*" / "kind=x" / "part2", A_ROWS)
    written(tmp_path / "run=a" / "out1-more" / "kind=x" / "part", A_ROWS)
    comparison = compare(a, [f"file://{file.replace('[', '%5B')}" for file in b])
    assert (comparison.columns[-1], comparison.keys) == ("kind", ("window_end", "post_id", "kind"))
    assert numbers(comparison) == (8, 8, 8, 0, 0, 0)
    assert compare(a[:1], b[:1]).columns[-1] == "kind"


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        ("1", "01", 0),
        ("2026-01-01", "2026-1-1", 0),
        ("0", "-0", 0),
        ("1", "%201", 0),
        ("null", "__HIVE_DEFAULT_PARTITION__", 0),
        ("it's %253D", "it's %253D", 4),
        ("__HIVE_DEFAULT_PARTITION__", "__HIVE_DEFAULT_PARTITION__", 4),
        ("2026-01-01", "2026-01-01", 4),
    ],
)
def test_values_of_partitions_are_equal_where_they_are_written_alike(tmp_path: Path, a: str, b: str, equal: int) -> None:
    sides = [[written(tmp_path / side / f"the k={value}" / "part", A_ROWS)] for side, value in (("a", a), ("b", b))]
    comparison = compare(*sides)
    assert (comparison.columns[-1], comparison.equal) == ("the k", equal)


def test_so_are_those_of_partitions_of_json(tmp_path: Path) -> None:
    lines = [tmp_path / "json" / side / f"k={value}" / "part" for side, value in (("a", "1"), ("b", "01"))]
    for file in lines:
        file.parent.mkdir(parents=True)
        file.write_text('{"v": 1}\n' * 4)
    assert compare([str(lines[0])], [str(lines[1])], format="json").equal == 0


def test_folders_of_an_iceberg_table_are_no_columns(tmp_path: Path) -> None:
    """Their names are made of values that the files have, too: `ts_day` of `ts`."""
    a, b = ([written(tmp_path / side / "data" / "ts_day=2026-01-01" / "post_id=7" / "part", A_ROWS)] for side in "ab")
    comparison = compare(a, b, foldered=(False, False))
    assert comparison.columns == ("window_end", "post_id", "views", "score") and comparison.equal == len(A_ROWS)


def test_over_time_has_at_most_600_points_and_loses_no_sum(tmp_path: Path) -> None:
    rows: list[Row] = [(minute(n), "p", n, math.nan if n == 3 else 1.0) for n in range(5000)]
    over_time = compare([written(tmp_path / "a", rows)], []).over_time
    assert over_time is not None
    assert 300 <= len(over_time.t) <= 600
    assert sum(v or 0 for v in over_time.a["views"]) == sum(range(5000))
    assert over_time.a["score"][0] is None
    assert set(over_time.b["views"]) == {None}


cells = st.tuples(
    st.sampled_from([None, *map(minute, range(3))]),
    st.sampled_from([None, "", "p1", "p2"]),
    st.sampled_from([None, 0, 1, -1]),
    st.sampled_from([None, 0.0, 0.5]),
)


def reference(a: list[Row], b: list[Row], until_ms: int | None) -> tuple[int, ...]:
    """The same by Counters: rows_a, rows_b, equal, only_a, only_b, changed."""
    if until_ms is not None:
        a, b = ([row for row in side if row[0] and row[0].timestamp() * 1000 <= until_ms] for side in (a, b))
    in_a, in_b = Counter(a), Counter(b)
    only_a, only_b = in_a - in_b, in_b - in_a
    unique = all(max(Counter(row[:2] for row in side).values(), default=1) == 1 for side in (a, b))
    changed = len({row[:2] for row in only_a} & {row[:2] for row in only_b}) if unique else 0
    return (len(a), len(b), (in_a & in_b).total(), only_a.total() - changed, only_b.total() - changed, changed)


@settings(max_examples=40, deadline=None)
@given(st.lists(cells, max_size=12), st.lists(cells, max_size=12), st.booleans(), st.sampled_from([None, NOON_MS, NOON_MS + 60_000]))
def test_compare_is_the_difference_of_counters(a: list[Row], b: list[Row], distinct: bool, until_ms: int | None) -> None:
    if distinct:
        a, b = (list({row[:2]: row for row in side}.values()) for side in (a, b))
    with TemporaryDirectory() as folder:
        comparison = compare([written(Path(folder) / "a", a)], [written(Path(folder) / "b", b)], until_ms=until_ms, examples=100)
    assert numbers(comparison) == reference(a, b, until_ms)
    assert (comparison.rows_a, comparison.rows_b) == (
        comparison.equal + comparison.only_a + comparison.changed,
        comparison.equal + comparison.only_b + comparison.changed,
    )
    if not distinct:
        return
    assert [len(comparison.examples[kind]) for kind in ("only_a", "only_b", "changed")] == [
        comparison.only_a,
        comparison.only_b,
        comparison.changed,
    ]


def test_where_outputs_first_part(tmp_path: Path) -> None:
    parting = compare([written(tmp_path / "a", [*A_ROWS, (None, "p0", 0, 0.0)])], [written(tmp_path / "b", B_ROWS)]).parting
    assert parting is not None
    assert (parting.at_ms, parting.time_column, parting.equal_until_ms, parting.kind) == (NOON_MS, "window_end", None, "changed")
    assert parting.a == {"window_end": "2026-01-01 12:00:00+00", "post_id": "p2", "views": 2, "score": None}
    assert parting.b is not None and parting.b["views"] == 5


def test_where_one_side_first_has_a_row_that_the_other_lacks(tmp_path: Path) -> None:
    common: list[Row] = [(minute(0), "p1", 1, 0.5), (minute(1), "p1", 3, 1.0), (minute(2), "p1", 3, 1.0)]
    late: list[Row] = [(minute(2), "p9", 9, 9.0), (minute(3), "p7", 7, 7.0)]
    a, b = [written(tmp_path / "a", common)], [written(tmp_path / "b", common + late)]
    parting, turned = compare(a, b).parting, compare(b, a).parting
    assert parting is not None and turned is not None
    assert (parting.kind, parting.a, (parting.b or {})["post_id"]) == ("only_b", None, "p9")
    assert (parting.at_ms, parting.equal_until_ms) == (NOON_MS + 120_000, NOON_MS + 60_000)
    assert (turned.kind, turned.b) == ("only_a", None)


def test_equal_outputs_and_those_without_time_part_nowhere(tmp_path: Path) -> None:
    assert compare([written(tmp_path / "a", A_ROWS)], [written(tmp_path / "b", A_ROWS)]).parting is None
    assert compare([table(tmp_path / "c", n=[1])], [table(tmp_path / "d", n=[2])]).parting is None


HOURS = {"type": "struct", "fields": [{"name": "h", "type": "interval hour to minute", "nullable": True, "metadata": {}}]}
MINUTES = {
    "type": "map",
    "keyType": "string",
    "valueType": {"type": "array", "elementType": "interval day to second", "containsNull": True},
}
INTERVALS = {
    "id": ("long", pa.int64()),
    "age": ("interval year to month", pa.int32()),
    "waited": ("interval day to second", pa.int64()),
    "hours": (HOURS, pa.struct([("h", pa.int64())])),
    "minutes": (MINUTES, pa.map_(pa.string(), pa.list_(pa.int64()))),
}
DAY_US = 86_400_000_000


def noted(path: Path, rows: list[tuple[Any, ...]], kinds: dict[str, Any] | None = None) -> str:
    """A file as Spark writes it: intervals as numbers, and Spark's note."""
    of = {name: (kinds or {}).get(name, kind) for name, (kind, _) in INTERVALS.items()}
    note = {"type": "struct", "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in of.items()]}
    arrays = [pa.array(column, kind) for column, (_, kind) in zip(zip(*rows, strict=True), INTERVALS.values(), strict=True)]
    whole = pa.Table.from_arrays(arrays, names=list(INTERVALS))
    pq.write_table(whole.replace_schema_metadata({spark_notes.NOTE: json.dumps(note)}), path)
    return str(path)


def test_intervals_are_compared_and_shown_as_such(tmp_path: Path) -> None:
    a = noted(tmp_path / "a", [(1, -15, DAY_US + 7_384_500_000, {"h": 93_720_000_000}, [("x", [1, None])]), (2, None, 2**62, None, None)])
    b = noted(tmp_path / "b", [(1, 15, DAY_US, {"h": -93_720_000_000}, [("x", [-1, None])]), (2, None, 2**62, None, None)])
    comparison = compare([a], [b])
    assert (comparison.keys, numbers(comparison), comparison.note) == (("id",), (2, 2, 1, 0, 0, 1), "")
    assert comparison.examples["changed"] == [
        {
            "id": 1,
            "a.age": "INTERVAL '-1-3' YEAR TO MONTH",
            "b.age": "INTERVAL '1-3' YEAR TO MONTH",
            "a.waited": "INTERVAL '1 02:03:04.5' DAY TO SECOND",
            "b.waited": "INTERVAL '1 00:00:00' DAY TO SECOND",
            "a.hours": {"h": "INTERVAL '26:02' HOUR TO MINUTE"},
            "b.hours": {"h": "INTERVAL '-26:02' HOUR TO MINUTE"},
            "a.minutes": {"x": ["INTERVAL '0 00:00:00.000001' DAY TO SECOND", None]},
            "b.minutes": {"x": ["INTERVAL '-0 00:00:00.000001' DAY TO SECOND", None]},
        }
    ]
    assert comparison.over_time is None and compare([a], []).examples["only_a"][1]["waited"].startswith("INTERVAL '53375995 ")


def test_intervals_with_other_fields_are_equal_and_numbers_that_mean_something_else_are_refused(tmp_path: Path) -> None:
    rows = [(1, 12, DAY_US, None, None)]
    a, days = noted(tmp_path / "a", rows), noted(tmp_path / "days", rows, {"waited": "interval day", "age": "interval year"})
    comparison = compare([days], [a])
    assert (numbers(comparison)[2], comparison.columns_apart) == (1, ("age", "waited"))
    assert "waited (INTERVAL DAY in A, INTERVAL DAY TO SECOND in B)" in comparison.note
    twice = noted(tmp_path / "b", [(1, 12, DAY_US + 1, None, None)], {"age": "interval year"})
    (change,) = compare([days], [twice]).examples["changed"]
    assert (change["a.waited"], change["b.waited"]) == tuple(f"INTERVAL '1 00:00:00{rest}' DAY TO SECOND" for rest in ("", ".000001"))
    long = noted(tmp_path / "long", rows, {"waited": "long"})
    months = noted(tmp_path / "months", rows, {"waited": "interval year to month"})
    for first, second in ((a, long), (a, months)):
        for files in (([first], [second]), ([first, second], [])):
            with pytest.raises(Incompatible, match="The column waited holds") as refused:
                compare(*files)
            assert refused.value.code == "compare.types"
