"""The page of state: nothing yet, being read, read; rows filtered and sorted; SQL and its errors."""

from __future__ import annotations

from dataclasses import replace
from zoneinfo import ZoneInfo

from streamlit.testing.v1 import AppTest

from dashboard.drawing import states
from dashboard.drawing.figures import BLUE, ORANGE
from dashboard.views.job.state import row as state_row
from dashboard.views.state.frame import frame
from dashboard.views.state.rows import _figures
from pipelines.domain.states import DATE, MOMENT, MOST_ROWS, StateColumn, StateRows
from pipelines.verbs.operations import ListOperations
from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.state import ListStates, ReadState
from pipelines.verbs.take import Take
from pipelines.words import states as words
from tests.afterwards import follow
from tests.dashboard.opening import Opener, clicked, selected, texts
from tests.faces import FakeFace

SAVEPOINT = "sp-000000000002"


def face(*, several: bool = False, read: bool = True, rows: int = 116) -> FakeFace:
    """The sample, whose first table of state was read, if it was; a savepoint that is taken is there afterwards."""
    made = follow(FakeFace.sample(), Take)
    made.memory.several, made.memory.rows = several, rows
    if read:
        read_first(made)
    return made


def read_first(made: FakeFace, limit: int = MOST_ROWS) -> None:
    reading = made.memory.reading(made.savepoints_by_id[SAVEPOINT], made.ask(ListStates(SAVEPOINT))[0], limit)
    made.readings[reading.id] = reading


def shown(app: AppTest) -> int:
    """Rows of the first table."""
    return len(app.dataframe[0].value)


def test_a_table_that_was_not_read_is_read_by_one_click(opened: Opener) -> None:
    made = face(read=False)
    app = opened(made, "state", savepoint=SAVEPOINT)
    assert "Not read yet" in texts(app) and "held 116 rows" in texts(app)
    app = clicked(app, "read_state")
    assert [type(change) for change in made.begun] == [ReadState]
    assert "Reading the state of" in texts(app) and app.button(key="read_state").disabled
    read_first(made)
    while made.ask(ListOperations(running=True)):
        app.run()
    app.run()
    assert "Rows by partition" not in texts(app) and shown(app) == 116
    assert "all of them read" in texts(app)


def test_rows_have_their_figures_and_types(opened: Opener) -> None:
    app = opened(face(), "state", savepoint=SAVEPOINT)
    frame = app.dataframe[0].value
    assert list(frame.columns)[:4] == ["key.window.start", "key.window.end", "key.post", "value.views"]
    assert str(frame["key.window.start"].dtype).startswith("datetime64") and frame["value.views"].dtype == "int64"
    assert "1.7×" in texts(app)
    panels = [component.proto.json for component in app.get("bidi_component") if "tidemark_panel" in component.proto.component_name]
    assert any("Rows by partition" in panel for panel in panels) and any("Rows by window.start" in panel for panel in panels)


def test_days_and_times_without_a_zone_are_the_same_in_every_zone_and_no_microsecond_is_lost() -> None:
    columns = tuple(StateColumn(f"value.{kind}", kind, "time") for kind in (DATE, "TIMESTAMP", MOMENT))
    rows = frame(StateRows(columns, ((0, 0, 250), (86_400_000, 1_500, None)), 2, False, 0.0))
    assert rows["value.DATE"].tolist() == ["1970-01-01", "1970-01-02"]
    assert rows["value.TIMESTAMP"].tolist() == ["1970-01-01 00:00:00", "1970-01-01 00:00:01.5"]
    assert str(rows[f"value.{MOMENT}"].dtype).startswith("datetime64")
    assert frame(StateRows(columns[2:], ((1.001,),), 1, False, 0.0)).iloc[0, 0] == "1970-01-01 00:00:00.001001 UTC"
    zone = ZoneInfo("America/New_York")
    assert [words.moment(1, column, zone) for column in columns[1:]] == ["1970-01-01 00:00:00.001", "1969-12-31 19:00:00.001 EST"]


def test_a_filter_and_an_order_stand_in_the_address(opened: Opener) -> None:
    made = face()
    app = opened(made, "state", savepoint=SAVEPOINT, filter="p62", sort="-value.views")
    views = list(app.dataframe[0].value["value.views"])
    assert 0 < len(views) < 116 and views == sorted(views, reverse=True)
    app = opened(made, "state", savepoint=SAVEPOINT)
    next(field for field in app.text_input if field.placeholder == "Filter by any value").set_value("nothing has this").run()
    assert selected(app, "filter") == "nothing has this" and "No row fits" in texts(app)


def test_many_rows_come_in_pages(opened: Opener) -> None:
    app = opened(face(rows=1_200), "state", savepoint=SAVEPOINT)
    assert shown(app) == 500 and "Rows 1 to 500 of 1,200" in texts(app)
    app = clicked(clicked(app, "state_behind"), "state_behind")
    assert shown(app) == 200 and selected(app, "rows") == "2" and app.button(key="state_behind").disabled


def test_rows_beyond_the_bound_are_read_when_somebody_asks(opened: Opener) -> None:
    made = face(read=False)
    read_first(made, limit=50)
    app = opened(made, "state", savepoint=SAVEPOINT)
    assert "50 of 116 rows were read" in texts(app) and shown(app) == 50
    clicked(app, "read_all")
    assert made.begun == [ReadState(SAVEPOINT, query="counts", operator=0, store="default", limit=116)]


def test_sql_answers_below_its_box_and_stays_in_the_address(opened: Opener) -> None:
    app = opened(face(), "state", savepoint=SAVEPOINT)
    app.text_area[0].set_value("SELECT count(*) AS rows, max(value.views) AS most FROM state")
    app = clicked(app, "state_sql_run")
    assert app.dataframe[1].value["rows"][0] == 116
    assert selected(app, "sql").startswith("SELECT count(*)")


def test_wrong_sql_is_said_and_what_was_typed_stays(opened: Opener) -> None:
    app = opened(face(), "state", savepoint=SAVEPOINT)
    app.text_area[0].set_value("SELECT * FROM read_text('/etc/passwd')")
    app = clicked(app, "state_sql_run")
    assert "state.outside" in texts(app) and "root:" not in texts(app)
    assert app.text_area[0].value == "SELECT * FROM read_text('/etc/passwd')"
    assert len(app.dataframe) == 1


def test_one_of_several_tables_is_chosen_by_the_address(opened: Opener) -> None:
    made = face(several=True)
    app = opened(made, "state", savepoint=SAVEPOINT, query="counts", operator="1", store="right")
    assert "Not read yet" in texts(app)
    picker = next(selectbox for selectbox in app.selectbox if selectbox.label == "State")
    assert len(picker.options) == 5 and "seen (map)" in picker.options[4] and "internal" in picker.options[3]
    picker.set_value(0).run()
    assert selected(app, "store") == "default" and "all of them read" in texts(app)


def test_a_running_job_is_looked_into_by_way_of_a_savepoint(opened: Opener) -> None:
    made = face(read=False)
    app = opened(made, "state", job="post_engagement")
    assert "at batch 9" in texts(app)
    app = clicked(app, "state_now")
    assert made.begun == [Take("post_engagement")] and selected(app, "savepoint") == made.ask(ListSavepoints())[0].id


def test_a_job_without_a_savepoint_gets_its_first(opened: Opener) -> None:
    made = face(read=False)
    app = opened(made, "state", job="post_events")
    assert "No savepoint to look into" in texts(app)
    app = clicked(app, "state_now")
    assert selected(app, "savepoint") == made.ask(ListSavepoints())[0].id and "Not read yet" in texts(app)


def test_an_uneven_partition_stands_out() -> None:
    assert states.skew({}) is None and states.skew({0: 0, 1: 0}) is None
    assert states.skew({0: 9, 1: 1, 2: 2}) == 2.25
    chart = states.by_partition({0: 9, 1: 1, 2: 2})
    assert list(chart.traces[0]["marker"]["color"]) == [ORANGE, BLUE, BLUE]
    assert not states.by_partition({0: 0}).traces


def test_rows_that_differ_from_the_operators_own_count_are_a_warning() -> None:
    face = FakeFace.busy()
    (read,) = face.readings.values()
    table = replace(next(state for state in face.ask(ListStates(read.savepoint)) if state.store == "default"), reading=read)
    for counted, note, tone in ((read.total, "as the job counted them", None), (read.total - 2, "2 fewer than there are", "orange")):
        figure = next(figure for figure in _figures(replace(table, operator_rows=counted), read) if figure.label == "Operator's rows")
        assert (figure.note, figure.tone) == (note, tone)
    assert state_row(replace(table, operator_rows=read.total + 1), 0).cells[6].tone == "orange"
    assert replace(table, operator_rows=1, variable="seen").rows_apart is None
