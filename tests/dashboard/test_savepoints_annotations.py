"""What people say of savepoints on their page: columns, fields in place, filters in the address."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, date, datetime

from dashboard.views.savepoints.filters import matches
from pipelines.domain.bounds import LATEST_MS
from pipelines.domain.errors import Unavailable
from pipelines.domain.savepoints import Reason
from pipelines.domain.trust import Trust
from pipelines.verbs.annotate import Annotate
from tests import samples
from tests.afterwards import follow
from tests.dashboard.opening import Opener, answered, asked, clicked, column, selected, tables, texts
from tests.faces import NOW_MS, FakeFace

FIRST, SECOND = "sp-000000000002", "sp-000000000003"
DAY_MS = 24 * 3_600_000


def now_ms() -> int:
    return round(time.time() * 1000)


def annotated(**given: object) -> FakeFace:
    """The sample, with this said of its first savepoint; what else is said of any will be there, too."""
    face = follow(FakeFace.sample(), Annotate)
    face.savepoints_by_id[FIRST] = replace(face.savepoints_by_id[FIRST], **given)  # type: ignore[arg-type]
    return face


def test_the_table_says_origin_date_and_that_there_is_a_note(opened: Opener) -> None:
    face = annotated(note="why", best_before_ms=now_ms() - DAY_MS)
    face.saved("post_engagement", label="for the night", reason=Reason.STOP)
    app = opened(face, "savepoints")
    assert column(app, "savepoints", "Origin") == ["stop", "by hand", "by hand"]
    assert column(app, "savepoints", "Label") == ["for the night", "–", "before ads ≡"]
    assert [until.endswith("past") for until in column(app, "savepoints", "Best before")] == [False, False, True]


def test_the_latest_date_of_all_is_shown(opened: Opener) -> None:
    face = annotated(best_before_ms=LATEST_MS)
    assert column(opened(face, "savepoints"), "savepoints", "Best before")[-1] == "9999-12-30"
    assert "9999" in texts(opened(face, "savepoints", savepoint=FIRST))


def test_one_is_annotated_in_place(opened: Opener) -> None:
    face = annotated(note="one\ntwo <b>", best_before_ms=now_ms() + 5 * DAY_MS)
    app = opened(face, "savepoints", savepoint=FIRST)
    assert "one\ntwo &lt;b&gt;" in texts(app) and "in 5 days" in texts(app)
    app = clicked(app, "annotate_catalog")
    place = f"annotation_{FIRST}"
    assert "Nothing disposes of it by itself" in texts(app)
    app.text_input(key=f"{place}_label").set_value("renamed")
    app.text_area(key=f"{place}_note").set_value("three")
    app.date_input(key=f"{place}_until").set_value(date.fromtimestamp(time.time() + 9 * 86_400))
    app = clicked(app, f"{place}_save")
    (change,) = face.begun
    assert isinstance(change, Annotate)
    assert (change.savepoint, change.label, change.note) == (FIRST, "renamed", "three")
    until = datetime.fromtimestamp((change.best_before_ms or 0) / 1000, UTC)
    assert (until.hour, until.minute) == (23, 59) and 8 * DAY_MS < (change.best_before_ms or 0) - now_ms() < 10 * DAY_MS
    assert "three" in texts(app) and not app.text_area


def test_what_is_not_changed_is_not_sent(opened: Opener) -> None:
    face = annotated(note="one", best_before_ms=now_ms() + 5 * DAY_MS)
    app = clicked(opened(face, "savepoints", savepoint=FIRST), "annotate_catalog")
    place = f"annotation_{FIRST}"
    app.text_input(key=f"{place}_label").set_value("")
    app.date_input(key=f"{place}_until").set_value(None)
    app = clicked(app, f"{place}_save")
    assert face.begun == [Annotate(FIRST, label="", best_before_ms=0)]
    app = clicked(clicked(app, "annotate_catalog"), f"{place}_save")
    assert len(face.begun) == 1, "nothing was changed"


def test_what_was_typed_stays_when_it_fails(opened: Opener) -> None:
    face = FakeFace.sample()
    face.refuses(Annotate, Unavailable("storage.full", "The disk is full.", "Make room."))
    place = f"annotation_{FIRST}"
    app = clicked(opened(face, "savepoints", savepoint=FIRST), "annotate_catalog")
    app.text_area(key=f"{place}_note").set_value("long thought")
    app = clicked(app, f"{place}_save")
    assert "storage.full" in texts(app)
    assert app.text_area(key=f"{place}_note").value == "long thought"
    app = clicked(app, f"{place}_cancel")
    assert not app.text_area and "No note." in texts(app)


def test_the_address_filters_by_origin_trust_and_date(opened: Opener) -> None:
    face = annotated(note="quarterly report", best_before_ms=now_ms() - DAY_MS)
    stop = face.saved("post_engagement", reason=Reason.STOP).id
    face.verified(samples.verification(face.savepoints_by_id[SECOND], Trust.PROVED))
    for query, ids in (
        ({"origin": "stop"}, [stop]),
        ({"origin": "manual"}, [SECOND, FIRST]),
        ({"trust": "proved"}, [SECOND]),
        ({"past": "yes"}, [FIRST]),
        ({"filter": "QUARTERLY"}, [FIRST]),
        ({"origin": "rewind"}, [stop, SECOND, FIRST]),
    ):
        app = opened(face, "savepoints", **query)
        assert tables(app)["savepoints"] == ids, query
    assert "No savepoint fits" in texts(opened(face, "savepoints", origin="stop", past="yes"))


def test_what_is_chosen_stands_in_the_address(opened: Opener) -> None:
    face = annotated(best_before_ms=now_ms() - DAY_MS)
    face.verified(samples.verification(face.savepoints_by_id[FIRST], Trust.INTACT))
    app = opened(face, "savepoints")
    app.selectbox(key="savepoints_origin").set_value("manual")
    app.selectbox(key="savepoints_trust").set_value("intact")
    app.toggle(key="savepoints_past").set_value(True).run()
    assert [selected(app, name) for name in ("origin", "trust", "past")] == ["manual", "intact", "yes"]
    app = clicked(app, "select_shown")
    assert selected(app, "savepoint") == FIRST


def test_all_that_is_shown_is_selected(opened: Opener) -> None:
    app = clicked(opened(FakeFace.sample(), "savepoints"), "select_shown")
    assert selected(app, "savepoint") == f"{SECOND},{FIRST}"
    assert "2 savepoints" in texts(app)
    assert selected(clicked(app, "bulk_none"), "savepoint") == ""


def test_several_get_one_label_and_date(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "savepoints", savepoint=f"{FIRST},{SECOND}")
    app = asked(app, "bulk_label", bulk_label_text="audit")
    assert "Replaces the label of 1 savepoint" in texts(app)
    answered(app, "bulk_label", "bulk_label_yes")
    assert sorted(face.begun, key=repr) == [Annotate(FIRST, "audit"), Annotate(SECOND, "audit")]


def test_where_an_imported_one_came_from_is_said(opened: Opener) -> None:
    face = FakeFace.sample()
    changed = {"reason": Reason.IMPORTED, "imported_ms": NOW_MS, "imported_from": "s3://lake/archive/clicks.tar.zst"}
    brought = replace(face.savepoints_by_id[FIRST], **changed)  # type: ignore[arg-type]
    face.savepoints_by_id[FIRST] = brought
    words = texts(opened(face, "savepoints", savepoint=FIRST))
    assert "imported" in words and "s3://lake/archive/clicks.tar.zst" in words
    assert matches(brought, "IMPORTED")
