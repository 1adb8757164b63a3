"""Which source of changed code goes on at which offset, and what a checkpoint's entries and folders look like then."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from pipelines.checkpoint import offsets
from pipelines.domain.errors import Invalid, TidemarkError, Unsupported
from pipelines.domain.ids import QueryName
from pipelines.domain.plannings import NEW, OLD, Planned, PlannedQuery, PlannedSource, Planning
from pipelines.domain.savepoints import QueryImage, SourceOffset
from pipelines.savepoint import placed_sources
from pipelines.storage.addresses import open_storage
from pipelines.workspace import source_offsets

Q = QueryName("q")
A, B, C = (PlannedSource("json", f"/{name}", f"digest of {name}") for name in "abc")
TOPIC, OTHER = PlannedSource("kafka", "clicks", "k"), PlannedSource("kafka", "views", "v")
FASTER = PlannedSource("json", "/a", "other options")


def named(**sources: PlannedSource) -> tuple[PlannedSource, ...]:
    return tuple(PlannedSource(source.kind, source.place, source.digest, name) for name, source in sources.items())


def placed(
    old: tuple[PlannedSource, ...], new: tuple[PlannedSource, ...], *drop: str, told: Mapping[str, str] | None = None, planned: bool = True
) -> source_offsets.PlacedSources:
    at = tuple(SourceOffset(source.name or str(number), "{}") for number, source in enumerate(old))
    image = QueryImage(Q, "id", 7, 0, 0, at, "hdfs", 1, (), {}, "noop", "", 0, 0, sources=tuple(source.kind for source in old))
    before = Planned((PlannedQuery("q", (), old),) if planned else ())
    return source_offsets.decide(
        image, Planning("4.3.0", sides={OLD: before, NEW: Planned((PlannedQuery("q", (), new),))}), drop, told or {}
    )


@pytest.mark.parametrize(
    ("old", "new", "pairs", "lost"),
    [
        ((A, B), (B, A), {"0": "1", "1": "0"}, ()),
        ((A, B), (C, B, A), {"0": None, "1": "1", "2": "0"}, ()),
        ((A, B), (B,), {"0": "1"}, ("q.sources.0",)),
        ((A, B), named(views=B, clicks=A), {"views": "1", "clicks": "0"}, ()),
        (named(views=B, clicks=A), (A, B), {"0": "clicks", "1": "views"}, ()),
        (named(views=B), named(pages=B, clicks=A), {"pages": "views", "clicks": None}, ()),
        ((A, TOPIC), (TOPIC, FASTER), {"0": "1", "1": "0"}, ()),
        ((A,), (B,), {"0": None}, ("q.sources.0",)),
        ((A, A), (A, B, A), {"0": "0", "1": None, "2": "1"}, ()),
    ],
)
def test_offsets_go_where_the_same_is_read(
    old: tuple[PlannedSource, ...], new: tuple[PlannedSource, ...], pairs: Mapping[str, str | None], lost: tuple[str, ...]
) -> None:
    placement = placed(old, new, *lost)
    assert (placement.pairs, placement.lost) == (pairs, lost)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ((A, B), (A, B)),
        ((A,), (FASTER,)),
        ((TOPIC,), (OTHER,)),
        (named(views=B), named(clicks=A, views=B)),
        (named(a=A, b=B), named(b=B, a=A)),
    ],
)
def test_nothing_is_moved_where_spark_goes_on_by_itself(old: tuple[PlannedSource, ...], new: tuple[PlannedSource, ...]) -> None:
    assert not placed(old, new).placements


def test_who_is_who_is_asked_where_it_cannot_be_told() -> None:
    code = (PlannedSource("json", "/a", "x"), B, PlannedSource("json", "/a", "y"))
    with pytest.raises(Unsupported) as unclear:
        placed((TOPIC, A), code)
    assert unclear.value.code == "migrate.sources" and "q.sources.1=q.sources.0" in unclear.value.hint
    assert placed((TOPIC, A), code, "q.sources.0", told={"q.sources.1": "q.sources.2"}).pairs == {"0": None, "1": None, "2": "1"}
    assert placed((A, B), (B,), planned=False, told={"q.sources.1": "q.sources.0"}).pairs == {"0": "1"}
    with pytest.raises(Unsupported):
        placed((A, B), (B,), planned=False)
    for told in ({"q.sources.1": "q.sources.9"}, {"q.sources.9": "q.sources.0"}, {"q.sources.1": "q.0"}):
        with pytest.raises(Invalid) as wrong:
            placed((TOPIC, A), code, told=told)
        assert wrong.value.code == "map.source"


def entry(version: int, conf: Mapping[str, str], *lines: str) -> bytes:
    head = json.dumps({"batchWatermarkMs": 7, "batchTimestampMs": 8, "conf": conf, **({"sourceMetadataInfo": {}} if version == 2 else {})})
    return "\n".join((f"v{version}", head, *lines)).encode()


def test_an_entry_goes_from_places_to_names_and_back() -> None:
    """An offset may hold colons; what has none has no line among names, and `-` among places."""
    by_place = entry(1, {"a": "b"}, '{"t":{"0":1}}', "-", '{"logOffset":3}')
    by_name = offsets.with_sources(5, by_place, {"files": "2", "new": None, "void": "1", "t": "0"}, by_name=True)
    read = offsets.parse(5, by_name)
    assert (read.version, read.offsets) == (2, {"files": '{"logOffset":3}', "t": '{"t":{"0":1}}'})
    assert (read.batch_watermark_ms, read.batch_timestamp_ms, read.conf) == (7, 8, {"a": "b", offsets.BY_NAME: "true"})
    back = offsets.parse(5, offsets.with_sources(5, by_name, {"0": "t", "1": None, "2": "files"}, by_name=False))
    assert (back.version, back.offsets) == (1, {"0": '{"t":{"0":1}}', "1": None, "2": '{"logOffset":3}'})
    assert back.conf == {"a": "b", offsets.BY_NAME: "false"} and b"sourceMetadataInfo" not in by_place
    assert b"sourceMetadataInfo" in by_name and offsets.with_sources(5, by_place, {"0": "0"}, by_name=False).count(b"\n") == 2


def test_a_copy_that_is_linked_to_a_savepoint_changes_alone(tmp_path: Path) -> None:
    savepoint, copy = tmp_path / "savepoint", tmp_path / "copy"
    for path, data in {
        "offsets/4": entry(1, {}, "a4", "b4"),
        "offsets/5": entry(1, {}, "a5", "b5"),
        "offsets/.5.crc": b"crc",
        "sources/0/0": b"of a",
        "sources/1/0": b"of b",
    }.items():
        for root in (savepoint, copy):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
        (savepoint / path).write_bytes(data)
        os.link(savepoint / path, copy / path)
    kept = {path: path.read_bytes() for path in savepoint.rglob("*") if path.is_file()}
    placed_sources.place(str(copy), {"0": "1", "1": None}, by_name=False)
    assert {path: path.read_bytes() for path in savepoint.rglob("*") if path.is_file()} == kept
    assert [offsets.parse(batch, (copy / f"offsets/{batch}").read_bytes()).offsets for batch in (4, 5)] == [
        {"0": "b4", "1": None},
        {"0": "b5", "1": None},
    ]
    assert sorted(str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()) == ["offsets/4", "offsets/5", "sources/0/0"]
    assert (copy / "sources/0/0").read_bytes() == b"of b"


@pytest.mark.parametrize("kind", ["s3", "hdfs"])
def test_the_sources_of_a_copy_at_a_home_are_moved_there(request: pytest.FixtureRequest, kind: str) -> None:
    copy = open_storage(f"{request.getfixturevalue(f'{kind}_url')}/copy")
    held = {"offsets/5": entry(1, {}, "a5", "b5"), "sources/0/0": b"of a", "sources/1/0": b"of b", "sources/1/1.compact": b"more of b"}
    for path, data in held.items():
        copy.write(path, data)
    placed_sources.place(copy.url, {"0": "1", "1": "0"}, by_name=False)
    assert offsets.parse(5, copy.read("offsets/5")).offsets == {"0": "b5", "1": "a5"}
    moved = {entry.path: copy.read(entry.path) for entry in copy.list("sources")}
    assert moved == {"sources/1/0": b"of a", "sources/0/0": b"of b", "sources/0/1.compact": b"more of b"}
    placed_sources.place(copy.url, {"0": None, "1": "0"}, by_name=False)
    assert sorted(entry.path for entry in copy.list()) == ["offsets/5", "sources/1/0", "sources/1/1.compact"]


def test_a_damaged_entry_is_said() -> None:
    with pytest.raises(TidemarkError):
        offsets.with_sources(5, b"v9\n{}\n", {}, by_name=True)
