"""Lists in pages, filtered and sorted, whatever the list: pages hold each row once, also where rows come and go between them."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines import verbs
from pipelines.domain.errors import Invalid
from pipelines.domain.savepoints import Reason
from pipelines.domain.trust import Trust
from pipelines.verbs.backups import ListBackups
from pipelines.verbs.experiments import ListExperiments
from pipelines.verbs.jobs import ListJobs, ListRuns
from pipelines.verbs.listing import Listed, next_page, page, pages
from pipelines.verbs.operations import ListOperations
from pipelines.verbs.rows import Filter, Rows
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.verb import Question, option
from tests.faces import FakeFace

LISTS = [kind for kind in verbs.every() if issubclass(kind, Listed)]
OF = {ListBackups: {"url": "s3://b/tidemark"}, ListRuns: {"job": "post_engagement"}}
"""What a list is of, where it is not of all there are."""


@dataclass(frozen=True)
class Row:
    id: str
    size: int | None = None
    kind: str = "a"
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class ListRows(Listed, Question[Sequence[Row]]):
    """List rows."""

    kind: str = option("Only those of this kind.", "", filters=Filter("kind"))
    tag: str = option("Only those with this tag.", "", filters=Filter("tags"))

    rows = Rows.of("id", "size", name="id")


ROWS = (Row("c", 2), Row("a", 3, "b", ("x", "y")), Row("d"), Row("b", 2, tags=("y",)))


def ids(rows: Sequence[Row]) -> str:
    return "".join(row.id for row in rows)


ASKED = [
    (ListRows(), "cadb"),
    (ListRows(limit=3), "cad"),
    (ListRows(sort="name"), "abcd"),
    (ListRows(sort="-name"), "dcba"),
    (ListRows(sort="size"), "bcad"),
    (ListRows(sort="-size"), "abcd"),
    (ListRows(kind="a", sort="name"), "bcd"),
    (ListRows(tag="y", sort="name", limit=1), "a"),
    (ListRows(tag="z"), ""),
]


@pytest.mark.parametrize(("question", "expected"), ASKED)
def test_rows_are_chosen_sorted_and_cut(question: ListRows, expected: str) -> None:
    assert ids(page(question, ROWS)) == expected


def test_what_asks_for_nothing_is_the_list_itself() -> None:
    assert page(ListRows(), ROWS) is ROWS


VALUES = st.lists(st.none() | st.integers(0, 3), max_size=12)


@settings(deadline=None)
@given(values=VALUES, sort=st.sampled_from(["", "size", "-size", "name", "-name"]), limit=st.integers(1, 5))
def test_pages_together_are_the_list(values: list[int | None], sort: str, limit: int) -> None:
    rows = [Row(f"{number:02}", size) for number, size in enumerate(values)]
    assert list(pages(lambda asked: page(asked, rows), ListRows(sort=sort, limit=limit))) == list(page(ListRows(sort=sort), rows))


@settings(deadline=None)
@given(values=VALUES, sort=st.sampled_from(["size", "-size", "name", "-name"]), gone=st.sets(st.integers(0, 11)), new=VALUES)
def test_rows_that_come_and_go_move_no_others(values: list[int | None], sort: str, gone: set[int], new: list[int | None]) -> None:
    rows = [Row(f"{number:02}", size) for number, size in enumerate(values)]
    question = ListRows(sort=sort, limit=3)
    first = page(question, rows)
    following = next_page(question, first)
    later = [row for number, row in enumerate(rows) if number not in gone] + [Row(f"n{number}", size) for number, size in enumerate(new)]
    rest = page(replace(following, limit=0), later) if following else ()
    staying = [row for row in page(ListRows(sort=sort), rows) if row in later]
    assert [row for row in (*first, *rest) if row in staying] == staying if following else True


def test_unsorted_it_goes_on_where_it_was_though_its_row_is_gone() -> None:
    following = next_page(ListRows(limit=2), ROWS[:2])
    assert following is not None
    assert ids(page(following, ROWS)) == "db"
    assert ids(page(following, [Row("new"), *ROWS])) == "db"
    assert ids(page(following, (ROWS[0], *ROWS[2:]))) == "b"


@pytest.mark.parametrize("question", [ListRows(limit=5), ListRows()])
def test_what_was_all_has_no_next_page(question: ListRows) -> None:
    assert next_page(question, page(question, ROWS)) is None


def place(*parts: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode()


@pytest.mark.parametrize(
    ("question", "code"),
    [
        (ListRows(sort="colour"), "list.sort"),
        (ListRows(sort="-"), "list.sort"),
        (ListRows(after="nonsense"), "list.after"),
        (ListRows(after="é"), "list.after"),
        (ListRows(after=place("", None, "a")), "list.after"),
        (ListRows(after=place("", None, "a", -1)), "list.after"),
        (ListRows(after=place("", [1], "a", 1)), "list.after"),
        (ListRows(after=place("name", "a", "a", 1)), "list.after"),
        (ListRows(after=place("size", "text", "a", 1), sort="size"), "list.after"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(question: ListRows, code: str) -> None:
    with pytest.raises(Invalid) as raised:
        page(question, ROWS)
    assert raised.value.code == code and raised.value.hint


@pytest.mark.parametrize("kind", LISTS)
def test_every_list_is_sorted_by_all_that_it_says_and_paged(kind: type[Any]) -> None:
    face, of = FakeFace.busy(), OF.get(kind, {})
    for sort in ("", *kind.rows.orders):
        whole = face.ask(kind(**of, sort=sort))
        assert len(whole) == len(face.ask(kind(**of)))
        assert tuple(pages(face.ask, kind(**of, sort=sort, limit=1))) == tuple(whole)


def test_real_lists_choose_by_what_their_rows_say() -> None:
    face = FakeFace.busy()
    newest, *_ = savepoints = face.ask(ListSavepoints())
    assert [row.trust for row in face.ask(ListSavepoints(trust=Trust.PROVED))] == [Trust.PROVED]
    assert face.ask(ListSavepoints(reason=Reason.SCHEDULED)) == ()
    assert [row.label for row in face.ask(ListSavepoints(label="before ads"))] == ["before ads"]
    assert face.ask(ListSavepoints(from_ms=newest.created_ms + 1)) == ()
    assert len(face.ask(ListSavepoints(to_ms=newest.created_ms))) == len(savepoints)
    assert [row.job.name for row in face.ask(ListJobs(parent="post_engagement"))] == ["post_engagement_split"]
    assert [row.id for row in face.ask(ListOperations(job="clicks", kind="export"))] == ["op-exporting"]
    assert [row.id for row in face.ask(ListExperiments(job="post_engagement_split"))] == ["ex-1"]
