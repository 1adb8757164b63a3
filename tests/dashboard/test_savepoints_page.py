"""The catalog of savepoints: what it shows, what it does, what it asks first."""

from __future__ import annotations

import pytest

from dashboard.views.savepoints_reading import by_kind, kind_of, offset_words
from pipelines.domain.errors import Unavailable
from pipelines.domain.requests import ResumeRequest, StopRequest
from pipelines.domain.savepoints import StoredFile, Trust
from tests.dashboard.opening import Opener, agreed, clicked, said, selected
from tests.faces import FakeFace

FIRST, SECOND = "sp-000000000002", "sp-000000000003"


@pytest.mark.parametrize(
    ("offset", "words"),
    [
        ('{"logOffset":9}', "entry 9 of the file log"),
        ("null", "nothing read yet"),
        ("1234", "1,234"),
        ('{"clicks":{"0":10,"1":20}}', "clicks: 2 partitions, 30 in all"),
        ('{"a":{"0":1},"b":{"0":2}}', "a: 1 partition, 1 in all; b: 1 partition, 2 in all"),
        ('{"position":7}', "position 7"),
        ("not json", "not json"),
    ],
)
def test_offsets_are_said_in_words(offset: str, words: str) -> None:
    assert offset_words(offset) == words


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("code/job.py", "code"),
        ("queries/q/checkpoint/metadata", "other"),
        ("queries/q/checkpoint/offsets/7", "offsets"),
        ("queries/q/checkpoint/commits/7", "commits"),
        ("queries/q/checkpoint/sources/0/9.compact", "sources"),
        ("queries/q/checkpoint/state/0/1/7.changelog", "state"),
        ("queries/q/sink/7", "sink"),
        ("checksums.json", "other"),
    ],
)
def test_files_are_told_apart(path: str, kind: str) -> None:
    assert kind_of(path) == kind


def test_files_are_counted_by_kind() -> None:
    files = [
        StoredFile("code/a.py", 5),
        StoredFile("queries/q/checkpoint/state/0/0/1.zip", 7),
        StoredFile("queries/q/checkpoint/state/0/1/1.zip", 8),
    ]
    assert [(kind.title, kind.files, kind.bytes) for kind in by_kind(files)] == [("State", 2, 15), ("Code", 1, 5)]


def test_an_empty_catalog_teaches(opened: Opener) -> None:
    app = opened(FakeFace(), "savepoints")
    assert "No savepoints yet" in said(app)
    assert any("python -m pipelines savepoint" in one.value for one in app.code)


def test_all_savepoints_are_listed_newest_first(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "savepoints")
    assert list(app.dataframe[0].value["id"]) == [SECOND, FIRST]
    assert list(app.dataframe[0].value["batch"]) == [9, 7]


def test_the_address_filters(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "savepoints", filter="before")
    assert list(app.dataframe[0].value["id"]) == [FIRST]
    app = opened(FakeFace.sample(), "savepoints", filter="nothing like it")
    assert "No savepoint is like this" in said(app)


def test_the_address_selects_one_and_its_contents_are_shown(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "savepoints", savepoint=FIRST)
    words = said(app)
    for part in (FIRST, "before ads", "complete", "by hand", "2.0 MB in 12 files", "42 ms"):
        assert part in words
    assert any(one.value == f"/fake/savepoints/{FIRST}" for one in app.code)
    tables = [set(one.value.columns) for one in app.dataframe]
    for columns in ({"Query", "Source", "Stands at"}, {"Operator", "Provider"}, {"Kind", "Files", "Bytes"}, {"Conf", "Value"}):
        assert any(columns <= table for table in tables)


def test_a_running_job_cannot_be_resumed_from_here(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "savepoints", savepoint=FIRST)
    assert app.button(key="resume_catalog").disabled
    assert "stop it first" in app.button(key="resume_catalog").help


def test_a_stopped_job_goes_back_after_one_question(opened: Opener) -> None:
    face = FakeFace.sample()
    face.stop("post_engagement", StopRequest(savepoint=False))
    app = clicked(opened(face, "savepoints", savepoint=FIRST), "resume_catalog")
    assert "begins again at batch 7" in said(app)
    agreed(app, "resume_catalog")
    assert face.calls[-1] == ("resume", ResumeRequest(FIRST))


def test_disposing_asks_with_what_it_deletes(opened: Opener) -> None:
    face = FakeFace.sample()
    app = clicked(opened(face, "savepoints", savepoint=FIRST), "dispose_catalog")
    assert "12 files" in said(app)
    assert "frees **4.1 kB**" in said(app)
    assert FIRST in face.savepoints_by_id
    agreed(app, "dispose_catalog")
    assert FIRST not in face.savepoints_by_id


def test_several_are_disposed_of_together(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "savepoints", savepoint=f"{FIRST},{SECOND}")
    assert "2 savepoints" in said(app)
    agreed(clicked(app, "bulk_dispose"), "bulk_dispose")
    assert not face.savepoints_by_id


def test_two_are_compared_in_the_tree(opened: Opener) -> None:
    app = clicked(opened(FakeFace.sample(), "savepoints", savepoint=f"{FIRST},{SECOND}"), "bulk_compare")
    assert {selected(app, "savepoint"), selected(app, "with")} == {FIRST, SECOND}


def test_a_verification_shows_its_damage(opened: Opener) -> None:
    face = FakeFace.sample()
    face.damaged.add(FIRST)
    app = clicked(opened(face, "savepoints", savepoint=f"{FIRST},{SECOND}"), "bulk_verify")
    assert ("verify", Trust.INTACT) in face.calls
    assert "1 file of" in said(app)
    assert any("the file is gone" in list(one.value.get("What", [])) for one in app.dataframe)


def test_a_savepoint_that_is_gone_leaves_the_list(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "savepoints", savepoint="sp-gone")
    assert "Select a savepoint" in said(app)


def test_an_error_is_said(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: FakeFace, job: str = "") -> None:
        raise Unavailable("catalog.away", "The catalog is away.", "Wait.")

    monkeypatch.setattr(FakeFace, "savepoints", refuse)
    assert "catalog.away" in said(opened(FakeFace(), "savepoints"))
