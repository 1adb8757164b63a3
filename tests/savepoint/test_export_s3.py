"""Exports to a real S3 server, and back: in place, published by the manifest or by the end of the one upload."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest

from pipelines.domain.errors import AlreadyExists, Corrupt, NotFound, Unavailable
from pipelines.domain.trust import Trust
from pipelines.savepoint import checksums, exports, imports, library
from pipelines.storage import folders
from pipelines.storage.addresses import open_storage
from tests.savepoint.exported import FORMS, LATER_MS, SP, Seen, bring, export, shelf, target
from tests.savepoint.golden import NOW_MS, Bench
from tests.verified import verified


@pytest.fixture(params=FORMS)
def url(request: pytest.FixtureRequest, s3_url: str) -> str:
    return f"{s3_url}/{uuid4().hex}/{FORMS[request.param]}"


def objects(url: str) -> set[str]:
    return {entry.path for entry in open_storage(url.rpartition("/")[0]).list()}


def test_there_and_back_again(bench: Bench, url: str) -> None:
    taken = bench.take()
    seen = Seen()
    exports.export(bench.library, SP, target(url), NOW_MS, seen, read_back=True)
    assert seen.done == [taken.bytes] * 3
    assert objects(url) == (
        {"copy.tar.zst"} if url.endswith("zst") else {f"copy/{path}" for path in bench.files(bench.folder / "savepoints" / SP)}
    )
    brought = bring(url, shelf(bench.folder))
    assert (brought.id, brought.trust, brought.bytes) == (SP, Trust.INTACT, taken.bytes)
    assert verified(shelf(bench.folder), SP, Trust.INTACT, LATER_MS).reached is Trust.INTACT
    with pytest.raises(AlreadyExists):
        export(bench, url)


def test_the_plan(bench: Bench, url: str) -> None:
    bench.take()
    planned = exports.plan(bench.library, SP, target(url), False)
    assert (planned.url, planned.how) == (url, "archive" if url.endswith("zst") else "copy")
    assert objects(url) == set()


def test_nothing_is_there(s3_url: str, bench: Bench) -> None:
    with pytest.raises(NotFound) as refused:
        bring(f"{s3_url}/{uuid4().hex}", shelf(bench.folder))
    assert refused.value.code == "import.nothing"


def test_a_bucket_that_is_not_there(s3_url: str, bench: Bench) -> None:
    bench.take()
    with pytest.raises((NotFound, Unavailable)) as refused:
        export(bench, "s3://no-such-bucket-at-all/x/copy")
    assert refused.value.hint


class Stop(Exception):
    """What a cancel raises."""


def stopping(step: str, seen: Seen) -> Callable[[int], None]:
    def at(_: int) -> None:
        if seen.steps[-1][0] == step:
            raise Stop

    return at


@pytest.mark.parametrize("step", ["copying", "reading back"])
def test_a_cancel_leaves_nothing(step: str, bench: Bench, url: str) -> None:
    bench.take()
    checksums.seal(bench.library, SP, NOW_MS)
    seen = Seen()
    seen.at = stopping("compressing" if step == "copying" and url.endswith("zst") else step, seen)
    with pytest.raises(Stop):
        exports.export(bench.library, SP, target(url), NOW_MS, seen, read_back=True)
    assert objects(url) == set()


def test_what_a_dead_export_left_is_no_savepoint_and_is_cleaned(bench: Bench, s3_url: str) -> None:
    bench.take()
    url = f"{s3_url}/{uuid4().hex}/copy"
    export(bench, url)
    there = open_storage(url)
    there.delete(["manifest.json"])
    with pytest.raises(NotFound):
        bring(url, shelf(bench.folder))
    exports.clean(target(url))
    assert objects(url) == set()


def test_a_finished_export_is_not_cleaned_away(bench: Bench, url: str) -> None:
    bench.take()
    export(bench, url)
    before = objects(url)
    exports.clean(target(url))
    assert objects(url) == before


def test_an_object_that_was_changed(bench: Bench, s3_url: str) -> None:
    bench.take()
    url = f"{s3_url}/{uuid4().hex}/copy"
    export(bench, url)
    path = "queries/counts/checkpoint/offsets/13"
    there = open_storage(url)
    there.write(path, there.read(path)[:-1] + b"?")
    with pytest.raises(Corrupt) as refused:
        imports.bring(url, shelf(bench.folder), NOW_MS)
    assert path in refused.value.message
    assert library.shelf(shelf(bench.folder)).savepoints == () and folders.children(shelf(bench.folder)) == []
