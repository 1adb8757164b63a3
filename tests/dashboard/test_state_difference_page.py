"""The page of a difference of state: two points are picked and compared; pictures first, then drift, keys with both values, SQL."""

from __future__ import annotations

from urllib.parse import parse_qs

from dashboard.drawing import state_differences as drawing
from pipelines.domain.state_differences import KeyChanges
from pipelines.verbs.operations import ListOperations
from pipelines.verbs.state_difference import CompareState
from tests.dashboard.opening import Opener, clicked, texts
from tests.dashboard.test_state_page import SAVEPOINT, face
from tests.differing import DIFFERENCE, difference


def test_two_points_are_compared_by_a_choice_and_a_click(opened: Opener) -> None:
    made = face()
    app = opened(made, "state", savepoint=SAVEPOINT)
    assert app.button(key="compare_state").disabled
    app.selectbox(key=f"state_against_{SAVEPOINT}").set_value("post_engagement").run()
    app = clicked(app, "compare_state")
    assert made.begun == [CompareState(SAVEPOINT, "post_engagement")]
    while made.ask(ListOperations(running=True)):
        app.run()
    app.run()
    assert "State difference" in texts(app)


def test_it_shows_counts_drift_and_keys_with_both_values(opened: Opener) -> None:
    app = opened(face(), "state", difference=DIFFERENCE)
    (table,) = difference().tables
    shown = texts(app)
    assert "batch 7" in shown and "batch 9" in shown and "B has no such state" in shown
    assert f"{table.changes.added:,}" in shown
    drift, rows = app.dataframe[0].value, app.dataframe[1].value
    assert list(drift["column"]) == [column.name for column in table.columns]
    assert set(rows["change"]) <= {"added", "removed", "changed"} and {"key.post", "a.value.views", "b.value.views"} <= set(rows.columns)
    (link,) = [link.proto for link in app.get("page_link") if link.proto.label == "Which batches changed it"]
    (query,) = [parse_qs(link.query_string)]
    assert query["tab"] == ["State"] and query["since"] == ["7"] and query["operator"] == ["0"]
    assert [line.partition("=")[0] for line in query["key"][0].splitlines()] == [
        name.removeprefix("key.") for name in rows.columns if name.startswith("key.")
    ]
    app.text_area(key="difference_sql_text").set_value("SELECT count(*) AS n FROM a")
    app = clicked(app, "difference_sql_run")
    assert app.dataframe[2].value["n"][0] == table.keys_a


def test_the_charts_say_what_they_show() -> None:
    (table,) = difference().tables
    assert f"{table.changes.added:,} added" in drawing.by_window(table.windows).summary
    assert drawing.by_partition({0: KeyChanges(0, 0, 0)}).empty == drawing.SAME
    assert "value.views" in drawing.by_column(table).summary or drawing.by_column(table).empty
    assert len(drawing.by_operator(difference()).traces) >= 1
