"""A new job: where its script comes from, what is read of the form, what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dashboard import gallery
from dashboard.views import new_job
from dashboard.views.connectors import USES
from dashboard.views.new_job import form
from pipelines.domain.about import Runtime
from pipelines.domain.connector_jars import package_jars
from pipelines.domain.connectors import DELTA, ICEBERG, KAFKA, S3, Connectors, Jars, delta, of_spark
from pipelines.domain.errors import AlreadyExists, Invalid, NotFound, Unsupported
from pipelines.domain.versions import version
from pipelines.verbs.connectors import ShowConnectors
from pipelines.verbs.run import RunScript
from pipelines.verbs.system import ShowAbout
from tests import samples
from tests.dashboard.opening import Opener, clicked, texts
from tests.faces import FakeFace


def test_the_gallery_is_filled_in(opened: Opener) -> None:
    face = FakeFace()
    app = opened(face, "new_job", source="Gallery", script="post_events.py")
    assert [field.value for field in app.text_input][:1] == ["post_events"]
    assert app.text_area[0].value == "--out '{output}' --interval 2"
    clicked(app, "start")
    (change,) = face.begun
    assert isinstance(change, RunScript)
    assert (change.name, change.script, change.args) == ("post_events", "post_events.py", ("--out", "{output}", "--interval", "2"))
    assert change.source == "pipelines/jobs/post_events.py"
    assert "def main" in change.code


def test_requirements_are_asked_for_as_typed(opened: Opener) -> None:
    face = FakeFace()
    app = opened(face, "new_job", source="Gallery", script="post_events.py")
    app.text_area[1].set_value("tiny==1.0\nother").run()
    assert any("--requirements requirements.txt" in block.value for block in app.code)
    clicked(app, "start")
    (change,) = face.begun
    assert isinstance(change, RunScript) and change.requirements == "tiny==1.0\nother"


def test_a_runtime_is_asked_for_as_typed(opened: Opener) -> None:
    face = FakeFace()
    app = opened(face, "new_job", source="Gallery", script="post_events.py")
    next(field for field in app.text_input if field.label == "Runtime").set_value(" /opt/spark-4.1/bin/python ").run()
    next(field for field in app.text_input if field.label == "Java").set_value("/opt/java-17 ").run()
    assert any("--runtime /opt/spark-4.1/bin/python --java-home /opt/java-17" in block.value for block in app.code)
    clicked(app, "start")
    (change,) = face.begun
    assert isinstance(change, RunScript) and (change.python, change.java_home) == ("/opt/spark-4.1/bin/python", "/opt/java-17")


def test_code_that_uses_delta_is_told_on_which_runtime_it_has_it_and_with_which_confs(opened: Opener, tmp_path: Path) -> None:
    """The server's own Spark has none; one that another job runs on has."""
    script, face = tmp_path / "job.py", FakeFace()
    script.write_text('spark.readStream.format("delta").load("/lake/t")')
    about = samples.about(0, {})
    spark_41 = Runtime("/opt/41/bin/python", "3.12.4", "4.1.4", "/usr/lib/jvm/java-17", "17", False, 1, (delta("4.1.4", Jars()),))
    face.answers(ShowAbout, lambda _: replace(about, runtimes=(*about.runtimes, spark_41)))
    app = opened(face, "new_job", source="File", path=str(script))
    none, elsewhere = [caption.value for caption in app.caption if caption.value.startswith("Delta Lake")]
    assert none.startswith("Delta Lake on Spark 4.3.0 has no release for it that is known: let the job run on Spark 3.5, 4.0, 4.1 or 4.2")
    assert elsewhere == "Delta Lake: the runtime `/opt/41/bin/python` (Spark 4.1.4) can have it."
    face.answers(ShowConnectors, lambda it: Connectors(it.python, "4.1.4", of_spark("4.1.4", Jars(packages=package_jars(it.conf)))))
    next(field for field in app.text_input if field.label == "Runtime").set_value("/opt/41/bin/python").run()
    (needed,) = [caption.value for caption in app.caption if caption.value.startswith("Delta Lake")]
    assert needed.startswith("Delta Lake on Spark 4.1.4 needs the conf spark.jars.packages=io.delta:delta-spark_4.1_2.13:4.4.0 (tried)")


@pytest.mark.parametrize(
    ("code", "systems"),
    [
        ('spark.readStream.format("kafka")', [KAFKA]),
        ("spark.readStream.load(format='kafka', **options)", [KAFKA]),
        ('frame.writeStream.start(format = "kafka")\nspark.readStream.format(source="delta")', [KAFKA, DELTA]),
        ("CREATE TEMPORARY VIEW clicks\nUSING kafka OPTIONS (subscribe 'clicks')", [KAFKA]),
        ("create table a using Iceberg; create table b USING\n delta", [DELTA, ICEBERG]),
        ('spark.readStream.text("s3a://lake/in")', [S3]),
        ("about kafka: using kafkaesque names, reformat('kafka')", []),
    ],
)
def test_code_says_which_systems_it_uses(code: str, systems: list[str]) -> None:
    assert [system for system, pattern in USES.items() if pattern.search(code)] == systems


def test_sinks_of_sparks_metrics_are_asked_for_as_typed(opened: Opener) -> None:
    face = FakeFace()
    app = opened(face, "new_job", source="Gallery", script="post_events.py")
    next(field for field in app.text_input if field.label == "Spark's own metrics").set_value("jmx graphite://host:2003").run()
    clicked(app, "start")
    (change,) = face.begun
    assert isinstance(change, RunScript) and change.spark_metrics == ("jmx", "graphite://host:2003")


def test_a_home_is_asked_for_as_typed_and_says_where_the_bytes_will_lie(opened: Opener) -> None:
    face = FakeFace()
    app = opened(face, "new_job", source="Gallery", script="post_events.py")
    home = next(field for field in app.text_input if field.label == "Home")
    home.set_value(" s3://bucket/jobs ").run()
    assert "s3a://bucket/jobs/post_events-" in texts(app)
    assert any("--home s3://bucket/jobs" in block.value for block in app.code)
    clicked(app, "start")
    (change,) = face.begun
    assert isinstance(change, RunScript) and change.home == "s3://bucket/jobs"


def test_a_home_that_cannot_be_says_why(opened: Opener) -> None:
    face = FakeFace()
    face.refuses(RunScript, Unsupported("home.connector", "The job's Spark has no hadoop-aws", "Give org.apache.hadoop:hadoop-aws."))
    app = opened(face, "new_job", source="Gallery", script="post_events.py")
    next(field for field in app.text_input if field.label == "Home").set_value("s3://bucket/jobs").run()
    assert "has no hadoop-aws" in texts(app) and "org.apache.hadoop:hadoop-aws" in texts(app)


def test_a_taken_name_gets_a_number_and_the_events_are_found(opened: Opener) -> None:
    app = opened(FakeFace.sample(), "new_job")
    assert app.text_input[0].value == "post_engagement_2"
    assert app.text_area[0].value == "--events /fake/jobs/post_events/output --output '{output}'"


def test_a_refusal_keeps_what_was_typed(opened: Opener) -> None:
    face = FakeFace.sample()
    face.refuses(RunScript, AlreadyExists("job.exists", "a job 'post_events' exists", "Choose another name."))
    app = opened(face, "new_job")
    app.text_input[0].set_value("post_events").run()
    app = clicked(app, "start")
    assert "job.exists" in texts(app)
    assert app.text_input[0].value == "post_events"


def test_what_was_typed_is_there_again_after_another_script_was_looked_at(opened: Opener) -> None:
    face = FakeFace()
    app = opened(face, "new_job", source="Gallery", script="post_events.py")
    draft = app.session_state["new_job"]
    for key, value in (("new_job", draft.typed("x = 1\n")), ("new_job_touched", {draft.origin: draft.typed("x = 1\n")})):
        app.session_state[key] = value
    for script in ("post_engagement.py", "post_events.py"):
        app.selectbox(key="script").set_value(script).run()
    assert app.session_state["new_job"].code == "x = 1\n"
    app.run().button(key="undo").click().run()
    assert "def main" in app.session_state["new_job"].code


def test_a_script_from_a_file(opened: Opener, tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text("print('mine')\n")
    face = FakeFace()
    clicked(opened(face, "new_job", source="File", path=str(script)), "start")
    (change,) = face.begun
    assert isinstance(change, RunScript)
    assert (change.name, change.script, change.code, change.source) == ("mine", "mine.py", "print('mine')\n", str(script))


def test_a_syntax_error_cannot_be_started(opened: Opener, tmp_path: Path) -> None:
    script = tmp_path / "broken.py"
    script.write_text("x = (\n")
    app = opened(FakeFace(), "new_job", source="File", path=str(script))
    assert app.button(key="start").disabled
    assert app.button(key="start").help.startswith("Line 1")


def test_a_missing_file_is_said(opened: Opener) -> None:
    app = opened(FakeFace(), "new_job", source="File", path="/no/such.py")
    assert "script.not_found" in texts(app)
    assert app.button(key="start").disabled


def test_nothing_pasted_yet(opened: Opener) -> None:
    assert opened(FakeFace(), "new_job", source="Paste").button(key="start").disabled


def test_arguments_that_cannot_be_read_are_said(opened: Opener) -> None:
    app = opened(FakeFace(), "new_job")
    app.text_area[0].set_value("--out 'x").run()
    assert "form.arguments" in texts(app)
    assert app.text_area[0].value == "--out 'x"


def test_words_and_confs() -> None:
    assert form.pairs([("spark.a", " 1 "), ("", ""), (None, None)]) == {"spark.a": "1"}
    with pytest.raises(Invalid):
        form.pairs([("", "1")])


@pytest.mark.parametrize(("typed", "says"), [("a/b", "&#x27;a/b&#x27; is not a job name"), ("post_events", "A job post_events exists")])
def test_a_name_that_no_job_can_have_is_said_before_it_is_started(opened: Opener, typed: str, says: str) -> None:
    app = opened(FakeFace.sample(), "new_job", source="Gallery", script="post_events.py")
    assert 'class="tm-error"' not in texts(app)
    field = next(field for field in app.text_input if field.label == "Name")
    assert says in texts(field.set_value(typed).run())


def test_a_script_that_the_gallery_does_not_have_is_said(opened: Opener) -> None:
    app = opened(FakeFace(), "new_job", source="Gallery", script="nope.py")
    assert "The address says script=nope.py" in texts(app) and "There is no such script here" in texts(app)
    app.selectbox(key="script").select("post_events.py").run()
    assert "nope.py" not in texts(app)


def test_the_gallery_reads_and_refuses(tmp_path: Path) -> None:
    assert "post_engagement.py" in gallery.names()
    assert gallery.from_gallery("post_events.py").title.startswith("The events of a social network")
    with pytest.raises(NotFound):
        gallery.from_gallery("../app.py")
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Invalid):
        gallery.from_path(str(tmp_path / "binary.py"))


def test_a_press_with_the_last_letter_counts(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    face = FakeFace()
    app = opened(face, "new_job", source="Gallery", script="post_events.py")
    app.text_input[0].set_value("renamed")
    monkeypatch.setattr(new_job, "code_editor", lambda *_, **__: "print('typed')\n")
    clicked(app, "start")
    (change,) = face.begun
    assert isinstance(change, RunScript)
    assert (change.name, change.code) == ("renamed", "print('typed')\n")


def test_a_press_with_what_is_no_python_starts_nothing(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    face = FakeFace()
    app = opened(face, "new_job", source="Gallery", script="post_events.py")
    monkeypatch.setattr(new_job, "code_editor", lambda *_, **__: "x = (\n")
    clicked(app, "start")
    assert face.begun == []
    assert app.button(key="start").disabled and app.button(key="start").help.startswith("Line 1")


def test_a_sql_job_begins_from_the_gallery_and_from_what_was_pasted(opened: Opener) -> None:
    face = FakeFace()
    face.began("streams", version("streams.py", ""))
    app = opened(face, "new_job", source="Gallery", script="views_by_author_sql.sql")
    assert "views_by_author_sql_counted.sql" in texts(app) and "needs rewriting" in texts(app)
    clicked(app, "start")
    (change,) = face.begun
    assert isinstance(change, RunScript) and (change.name, change.script) == ("views_by_author_sql", "views_by_author_sql.sql")
    pasted = form.Draft("pasted", "job.py", change.code, "", (), 0)
    assert form.script_name(pasted, "mine") == "mine.sql"
    assert new_job._diagnostics(pasted) == []
    (wrong,) = new_job._diagnostics(pasted.typed("SET a = 1;\nSELECT 1;\n"))
    assert (wrong.line, wrong.message.partition(";")[0]) == (2, "'SELECT 1' begins no statement")
