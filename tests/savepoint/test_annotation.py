"""What people say of a savepoint stands beside its manifest: changed, kept by export and import, gone with the savepoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from pipelines.domain import texts
from pipelines.domain.bounds import LATEST_MS
from pipelines.domain.errors import Corrupt, Invalid, NotFound, TidemarkError, Unsupported
from pipelines.domain.savepoints import Reason, Savepoint
from pipelines.domain.trust import Trust
from pipelines.savepoint import annotation, dispose, layout, library
from tests.savepoint.exported import FORMS, LATER_MS, SP, bring, export, members, shelf
from tests.savepoint.golden import NOW_MS, Bench
from tests.verified import verified

NOTE = "Taken before the ads.\nKeep until the report is out: ü"
WHOLE = ("before ads", NOTE, NOW_MS + 5)


def annotated(savepoint: Savepoint) -> tuple[str, str, int | None]:
    return savepoint.label, savepoint.note, savepoint.best_before_ms


def annotate(
    bench: Bench, label: str | None = None, note: str | None = None, best_before_ms: int | None = None
) -> tuple[str, str, int | None]:
    annotation.write(bench.library, annotation.annotation(bench.library, SP, label, note, best_before_ms, LATER_MS))
    return annotated(library.load(bench.library, SP))


def test_what_is_not_given_stays_and_what_was_taken_is_not_touched(bench: Bench) -> None:
    taken = bench.take()
    manifest = (bench.folder / "savepoints" / SP / layout.MANIFEST).read_bytes()
    assert annotated(library.load(bench.library, SP)) == (taken.label, "", None)
    assert annotate(bench, note=f"  {NOTE}\r\n") == (taken.label, NOTE, None)
    assert annotate(bench, label=" before ads ", best_before_ms=NOW_MS) == ("before ads", NOTE, NOW_MS)
    assert annotate(bench, best_before_ms=0) == ("before ads", NOTE, None)
    assert annotate(bench, label="", note="") == ("", "", None)
    assert (bench.folder / "savepoints" / SP / layout.MANIFEST).read_bytes() == manifest
    assert verified(bench.library, SP, Trust.INTACT, NOW_MS).reached is Trust.INTACT


WRONG = {
    "nothing": ((), "annotation.nothing"),
    "long label": (("x" * (texts.LABEL.most + 1),), "annotation.label"),
    "two lines": (("a\nb",), "annotation.label"),
    "long note": ((None, "x" * (texts.NOTE.most + 1)), "annotation.note"),
    "a zero byte": ((None, "a\0b"), "annotation.note"),
    "before 1970": ((None, None, -1), "annotation.best_before"),
    "after 9999": ((None, None, LATEST_MS + 1), "annotation.best_before"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_refused_and_changes_nothing(bench: Bench, case: str) -> None:
    bench.take()
    before = annotate(bench, *WHOLE)
    given, code = WRONG[case]
    with pytest.raises(Invalid) as refused:
        annotate(bench, *cast(Any, given))
    assert refused.value.code == code and refused.value.hint
    assert annotated(library.load(bench.library, SP)) == before


def test_the_longest_is_allowed(bench: Bench) -> None:
    bench.take()
    assert annotate(bench, "ü" * texts.LABEL.most, "x" * texts.NOTE.most, LATEST_MS)[2] == LATEST_MS


def test_it_goes_with_its_savepoint(bench: Bench) -> None:
    bench.take()
    annotate(bench, *WHOLE)
    late = annotation.annotation(bench.library, SP, *WHOLE, NOW_MS)
    dispose.dispose(bench.library, SP, NOW_MS)
    assert bench.files() == set()
    with pytest.raises(NotFound):
        annotate(bench, *WHOLE)
    with pytest.raises(NotFound):
        annotation.write(bench.library, late)
    assert bench.files() == set()


def newer(raw: dict[str, Any]) -> None:
    raw["format"] = 2


def other(raw: dict[str, Any]) -> None:
    raw["savepoint"] = "sp-9"


def long(raw: dict[str, Any]) -> None:
    raw["note"] = "x" * (texts.NOTE.most + 1)


DAMAGES: list[tuple[Callable[[dict[str, Any]], None], type[TidemarkError]]] = [(newer, Unsupported), (other, Corrupt), (long, Corrupt)]


@pytest.mark.parametrize(("change", "error"), DAMAGES)
def test_a_document_that_is_not_ours_is_told(bench: Bench, change: Callable[[dict[str, Any]], None], error: type[TidemarkError]) -> None:
    bench.take()
    annotate(bench, *WHOLE)
    path = bench.folder / "savepoints" / SP / layout.ANNOTATION
    raw = json.loads(path.read_text())
    change(raw)
    path.write_text(json.dumps(raw))
    with pytest.raises(error):
        library.load(bench.library, SP)
    assert [unreadable.id for unreadable in library.shelf(bench.library).unreadable] == [SP]


@pytest.mark.parametrize("form", FORMS)
def test_it_travels_and_the_arrival_is_known(bench: Bench, tmp_path: Path, form: str) -> None:
    bench.take()
    annotate(bench, *WHOLE)
    url = str(tmp_path / FORMS[form])
    export(bench, url, read_back=True)
    brought = bring(url, shelf(tmp_path))
    assert annotated(brought) == ("before ads", NOTE, NOW_MS + 5)
    assert (brought.reason, brought.imported_ms, brought.imported_from) == (Reason.IMPORTED, LATER_MS, url)
    assert library.manifest(shelf(tmp_path), SP).reason is Reason.MANUAL


def test_where_it_came_from_stays_behind(bench: Bench, tmp_path: Path) -> None:
    bench.take()
    export(bench, str(tmp_path / "out" / "first"))
    bring(str(tmp_path / "out" / "first"), shelf(tmp_path))
    export(bench, str(tmp_path / "out" / "second.tar.zst"), library=shelf(tmp_path))
    names = {info.name for info, _ in members(tmp_path / "out" / "second.tar.zst")}
    assert not {f"{SP}/{name}" for name in (layout.IMPORTED, layout.ANNOTATION)} & names


def test_a_false_annotation_is_not_imported(bench: Bench, tmp_path: Path) -> None:
    bench.take()
    annotate(bench, *WHOLE)
    url = tmp_path / FORMS["directory"]
    export(bench, str(url))
    (url / layout.ANNOTATION).write_text((url / layout.ANNOTATION).read_text().replace(SP, "sp-9"))
    with pytest.raises(Corrupt):
        bring(str(url), shelf(tmp_path))
    assert library.shelf(shelf(tmp_path)) == library.Shelf((), ())
