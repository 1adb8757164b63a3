"""Pages of a trial and of a key: one click each, and the rows are there."""

from __future__ import annotations

import re

from pipelines.verbs.savepoints import ListSavepoints
from pipelines.verbs.state import ListStates
from pipelines.verbs.state_key import LookUpKey
from pipelines.verbs.try_code import TryCode
from tests.dashboard.opening import Opener, clicked, texts
from tests.faces import FakeFace
from tests.verbs.requests import JOB

SAVEPOINT = "sp-000000000002"


def test_the_edited_code_is_tried_and_its_rows_are_shown(opened: Opener) -> None:
    face = FakeFace.sample()
    app = clicked(opened(face, "fork", savepoint=SAVEPOINT), "fork_try")
    assert [type(change) for change in face.begun] == [TryCode]
    assert "2 would be written" in texts(app)
    assert list(app.dataframe[0].value["post"]) == ["p1", "p2"]
    assert "sum(n) AS views before, count(n) AS views now." in texts(app)
    (table,) = [html.proto.body for html in app.get("html") if "tm-both tm-key" in html.proto.body]
    assert "<caption>For example, key post=p1</caption>" in table
    assert re.findall(r"<t[hd]>(.*?)</t[hd]>", table) == [
        *("What it keeps", "In the savepoint", "Code before, after batch 8", "This code, after batch 8"),
        *("sum", "120", "131", "121"),
    ]


def test_what_was_typed_last_is_tried_and_what_cannot_be_read_says_so(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "fork", savepoint=SAVEPOINT)
    app.text_area(key=f"fork_args_{SAVEPOINT}_A").set_value("--fast")
    next(group for group in app.button_group if group.key == f"fork_migrate_{SAVEPOINT}_A").set_value("by_columns")
    clicked(app, "fork_try")
    (tried,) = face.begun
    assert isinstance(tried, TryCode) and (tried.args, tried.migrate) == (("--fast",), {"columns": ""})
    app.text_area(key=f"fork_args_{SAVEPOINT}_A").set_value("--fast '")
    assert "form.arguments" in texts(clicked(app, "fork_try")) and face.begun == [tried]
    assert app.button(key="fork_start").disabled


def test_a_key_of_the_running_job_is_looked_up(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "job", job=JOB, tab="State")
    app.text_area(key=f"key_text_{JOB}").set_value("post=p1\nwindow.start = 2027-01-15T08:00:00Z").run()
    app = clicked(app, "key_look_up")
    (change,) = face.begun
    assert isinstance(change, LookUpKey) and change.key == {"post": "p1", "window.start": "2027-01-15T08:00:00Z"}
    assert "at batch 9" in texts(app) and "partition 2" in texts(app)


def test_a_key_that_the_address_names_is_there_to_look_up(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "job", job=JOB, tab="State", key="post=p1", since="7")
    assert (app.text_area(key=f"key_text_{JOB}").value, app.number_input(key=f"key_since_{JOB}").value) == ("post=p1", 7)


def test_what_a_key_looks_like_is_shown_of_the_rows_that_were_read(opened: Opener) -> None:
    face = FakeFace.sample()
    (newest, *_) = face.ask(ListSavepoints(JOB))
    table = next(table for table in face.ask(ListStates(newest.id)) if not table.internal)
    app = opened(face, "job", job=JOB, tab="State")
    assert app.text_area(key=f"key_text_{JOB}").placeholder == "COLUMN=VALUE"
    assert app.selectbox(key=f"key_table_{JOB}").options[0] == "counts · aggregation 0 · default"
    read = face.memory.reading(newest, table, 116)
    face.readings[read.id] = read
    app = opened(face, "job", job=JOB, tab="State")
    lines = app.text_area(key=f"key_text_{JOB}").placeholder.splitlines()
    assert [line.partition("=")[0] for line in lines] == ["window.start", "window.end", "post"] and all(
        line.partition("=")[2] for line in lines
    )


def test_a_value_without_a_column_is_refused(opened: Opener) -> None:
    face = FakeFace.sample()
    app = opened(face, "job", job=JOB, tab="State")
    app.text_area(key=f"key_text_{JOB}").set_value("=p1").run()
    app = clicked(app, "key_look_up")
    assert face.begun == [] and "no column with a value" in texts(app)


def test_the_batches_that_changed_a_key_are_shown(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "job", job=JOB, tab="State")
    app.text_area(key=f"key_text_{JOB}").set_value("post=p1").run()
    app.number_input(key=f"key_since_{JOB}").set_value(7).run()
    app = clicked(app, "key_look_up")
    assert "changed 1 time since batch 7" in texts(app)
    assert [list(frame.value["batch"]) for frame in app.dataframe if "batch" in frame.value] == [[9]]
