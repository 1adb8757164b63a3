"""Jobs that run elsewhere: attached from the page, watched, forked with code of one's own, forgotten."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.views import ranges
from dashboard.views.new_job import ATTACH, attach
from pipelines.domain.errors import AlreadyExists, Invalid, NotFound, TidemarkError
from pipelines.domain.experiments import Series
from pipelines.domain.ids import JobName
from pipelines.verbs.attach import Attach
from pipelines.verbs.jobs import ListBatches, ShowSeries
from pipelines.verbs.rename_query import RenameQuery
from pipelines.verbs.savepoints import ListSavepoints
from tests.afterwards import follow
from tests.dashboard.opening import Opener, answered, asked, clicked, selected, texts
from tests.faces import FakeFace

CHECKPOINT = "/data/clicks/checkpoint"
FOLDER = CHECKPOINT.rpartition("/")[2]
GONE = NotFound("checkpoint.not_found", "there is no checkpoint at /data/gone", "Give another one.")


def form(opened: Opener, face: FakeFace, **typed: str) -> AppTest:
    """The form with these fields (by key, without `attach_`) filled in."""
    app = opened(face, "new_job", source=ATTACH)
    for key, value in typed.items():
        app.text_input(key=f"attach_{key}").set_value(value)
    return app.run()


def test_one_query_is_attached(opened: Opener) -> None:
    face = follow(FakeFace(), Attach)
    app = clicked(form(opened, face, name="clicks", checkpoint_0=CHECKPOINT), "attach_start")
    assert face.begun == [Attach(name="clicks", checkpoints={FOLDER: CHECKPOINT})]
    assert selected(app, "job") == "clicks"


def test_several_queries_with_their_sink_and_code(opened: Opener, tmp_path: Path) -> None:
    script = tmp_path / "clicks.py"
    script.write_text("print('clicks')\n")
    face = FakeFace()
    app = clicked(form(opened, face, name="clicks", query_0="counts", checkpoint_0=CHECKPOINT), "attach_more")
    app.text_input(key="attach_query_1").set_value("late")
    app.text_input(key="attach_checkpoint_1").set_value("s3://lake/late")
    app.text_input(key="attach_sink_path").set_value("s3://lake/out")
    app.selectbox(key="attach_sink").set_value("parquet")
    app.text_input(key="attach_script").set_value(str(script)).run()
    app.text_input(key="attach_args").set_value("--out '{output}'").run()
    clicked(app, "attach_start")
    assert face.begun[0] == Attach(
        name="clicks",
        checkpoints={"counts": CHECKPOINT, "late": "s3://lake/late"},
        sink="parquet",
        sink_path="s3://lake/out",
        script="clicks.py",
        code="print('clicks')\n",
        args=("--out", "{output}"),
    )


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ({}, "Give it a name"),
        ({"name": "clicks"}, "Give each query a name and its checkpoint"),
        ({"name": "clicks", "query_0": "counts"}, "Give each query"),
    ],
)
def test_what_is_missing_is_said(opened: Opener, typed: dict[str, str], why: str) -> None:
    app = form(opened, FakeFace(), **typed)
    assert app.button(key="attach_start").disabled
    assert app.button(key="attach_start").help.startswith(why)


@pytest.mark.parametrize(
    ("typed", "error", "words"),
    [
        (
            {"name": "post_events", "checkpoint_0": CHECKPOINT},
            AlreadyExists("job.exists", "a job 'post_events' exists", "Choose another name."),
            "a job &#x27;post_events&#x27; exists. Choose another name.",
        ),
        ({"name": "clicks", "checkpoint_0": "/data/gone"}, GONE, "gone: there is no checkpoint at /data/gone. Give another one."),
        ({"name": "no/name", "checkpoint_0": CHECKPOINT}, Invalid("job.name", "'no/name' is not a job name"), "is not a job name"),
    ],
)
def test_a_refusal_stands_beside_its_field_until_something_changes(
    opened: Opener, typed: dict[str, str], error: TidemarkError, words: str
) -> None:
    face = FakeFace.sample()
    face.refuses(Attach, error)
    app = clicked(form(opened, face, **typed), "attach_start")
    assert re.search(rf'<p class="tm-error" role="alert">[^<]*{re.escape(words)}', texts(app))
    assert app.text_input(key="attach_name").value == typed["name"]
    app.text_input(key="attach_name").set_value("another").run()
    assert 'class="tm-error"' not in texts(app)


def test_a_press_with_the_last_letter_counts(opened: Opener) -> None:
    """Also where the error of the press before is still there."""
    face = follow(FakeFace.sample(), Attach)
    face.refuses(Attach(name="clicks", checkpoints={"gone": "/data/gone"}), GONE)
    app = clicked(form(opened, face, name="clicks", checkpoint_0="/data/gone"), "attach_start")
    app.text_input(key="attach_checkpoint_0").set_value(CHECKPOINT)
    clicked(app, "attach_start")
    assert face.begun[-1] == Attach(name="clicks", checkpoints={FOLDER: CHECKPOINT})
    assert selected(app, "job") == "clicks"


@pytest.mark.parametrize(
    ("code", "field"),
    [
        ("job.exists", "name"),
        ("attach.attached", "checkpoint"),
        ("checkpoint.not_found", "checkpoint"),
        ("attach.no_sink_log", "sink"),
        ("x.y", ""),
    ],
)
def test_an_error_is_about_a_field(code: str, field: str) -> None:
    assert attach._field(TidemarkError(code, "")) == field


def test_a_script_that_cannot_be_read_is_said_beside_its_field(opened: Opener) -> None:
    app = form(opened, FakeFace(), name="clicks", checkpoint_0=CHECKPOINT, script="/no/such.py")
    assert 'class="tm-error"' in texts(app)


def test_it_is_watched_and_neither_stopped_nor_started(opened: Opener) -> None:
    app = opened(FakeFace.busy(), "job", job="clicks")
    words = texts(app)
    for part in ("Watched", "s3://lake/clicks/checkpoint", "s3://lake/clicks/out", "Its code is not known"):
        assert part in words
    keys = {button.key for button in app.button}
    assert {"take", "fork", "forget"} <= keys
    assert not {"stop", "resume", "upgrade", "cancel"} & keys
    assert [tab.label for tab in app.tabs] == [
        "Metrics",
        "Operators",
        "State",
        "Batches",
        "Savepoints",
        "Configuration",
        "Alerts",
        "Events",
    ]


def test_where_there_is_no_chart_nobody_is_told_to_drag_across_one(opened: Opener) -> None:
    face = FakeFace.busy()
    assert ranges.DRAG in texts(opened(face, "job", job="clicks"))
    face.answers(ShowSeries, Series(JobName("clicks"), {"t": []}))
    words = texts(opened(face, "job", job="clicks"))
    assert ranges.DRAG not in words and "No batch in this range of time" in words
    face.answers(ListBatches, ())
    assert "Drag across" not in texts(opened(face, "job", job="clicks", tab="Batches"))


def test_only_what_a_checkpoint_says_is_shown_of_it(opened: Opener) -> None:
    words = texts(opened(FakeFace.busy(), "job", job="clicks"))
    assert "Newest batch" in words
    for unknown in ("Late rows dropped", "rows/s"):
        assert unknown not in words


@pytest.mark.parametrize("tab", ["Metrics", "Batches", "Savepoints", "Configuration", "Alerts", "Events"])
def test_each_of_its_tabs_is_drawn(opened: Opener, tab: str) -> None:
    assert "<h1>clicks</h1>" in texts(opened(FakeFace.busy(), "job", job="clicks", tab=tab))


def test_it_is_not_rewound(opened: Opener) -> None:
    app = opened(FakeFace.busy(), "job", job="clicks", tab="Savepoints", batch="counts:8")
    assert "runs elsewhere" in app.button(key="point_rewind").help


def test_its_query_is_renamed(opened: Opener) -> None:
    face = FakeFace.busy()
    app = asked(opened(face, "job", job="clicks"), "rename", renamed_to="clicks_per_post")
    assert "2 savepoints: take a new one afterwards" in texts(app)
    answered(app, "rename", "rename_query_yes")
    assert face.begun == [RenameQuery("clicks", "counts", "clicks_per_post")]
    assert "rename" not in {button.key for button in opened(face, "job", job="post_engagement").button}


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("", ""),
        (" clicks", "begins or ends with a blank"),
        ("c" * 300, "The name has 300 characters"),
        ("taken", "has a query taken already"),
    ],
    ids=["nothing", "a blank", "too long", "taken"],
)
def test_a_name_that_its_query_cannot_have_is_said_as_it_is_typed(opened: Opener, typed: str, says: str) -> None:
    face = FakeFace.busy()
    taken = AlreadyExists("query.exists", "Job clicks has a query taken already", "Give it another name.")
    face.refuses(lambda asked: isinstance(asked, RenameQuery) and asked.to == "taken", taken)
    app = asked(opened(face, "job", job="clicks"), "rename", renamed_to=typed)
    assert says in texts(app) and app.button(key="rename_query_yes").disabled


def test_a_name_with_a_slash_is_kept_and_its_folder_named(opened: Opener) -> None:
    app = asked(opened(FakeFace.busy(), "job", job="clicks"), "rename", renamed_to="clicks/eu")
    assert "clicks_eu-" in texts(app) and not app.button(key="rename_query_yes").disabled


def test_forgetting_it_touches_nothing_of_it(opened: Opener) -> None:
    app = opened(FakeFace.busy(), "job", job="clicks")
    words = texts(app.button(key="forget").click().run())
    assert "its checkpoint and its output are not touched" in words
    assert "This deletes" not in words


def test_a_fork_of_it_needs_code(opened: Opener, tmp_path: Path) -> None:
    face = FakeFace.busy()
    taken = face.ask(ListSavepoints("clicks"))[0]
    app = opened(face, "fork", savepoint=taken.id)
    assert "clicks runs elsewhere" in texts(app)
    assert app.button(key="fork_start").disabled
    assert "does not say what code" in app.button(key="fork_start").help
    script = tmp_path / "clicks.py"
    script.write_text("print('clicks')\n")
    app.text_input(key="fork_path").set_value(str(script)).run()
    assert not clicked(app, "fork_load_now").button(key="fork_start").disabled


def test_its_savepoint_is_not_resumed_here(opened: Opener) -> None:
    face = FakeFace.busy()
    app = opened(face, "savepoints", savepoint=face.ask(ListSavepoints("clicks"))[0].id)
    assert "runs elsewhere" in app.button(key="resume_catalog").help
