"""A log4j2 configuration beside a script: part of the version, named to the driver's JVM, refused where log4j2 would pass over it."""

from __future__ import annotations

import pytest

from pipelines.domain import log_configuration
from pipelines.domain.errors import Invalid
from pipelines.domain.ids import JobName
from pipelines.domain.log_configuration import OPTIONS, PROPERTY, SPARKS_JSON, STRUCTURED
from pipelines.verbs.experiments import ShowVersion
from pipelines.verbs.face import do
from pipelines.verbs.fork import Fork
from pipelines.verbs.run import RunScript
from pipelines.verbs.take import Take
from tests.workspace.conftest import CODE, House

PROPERTIES = """# mine
rootLogger.level = info
rootLogger.appenderRef.c.ref = console
appender.c.type = Console
appender.c.name = console
appender.c.layout.type = PatternLayout
appender.c.layout.pattern = %d{ISO8601} [%p] \\
    %m%n
"""
XML = '<?xml version="1.0"?>\n<Configuration status="warn"><Loggers><Root level="info"/></Loggers></Configuration>'


def run(house: House, name: str, files: dict[str, str | None], **conf: str) -> str:
    """The options of the JVM that the run's specification has."""
    begun = do(house.face, RunScript(name=name, script="job.py", code=CODE, files=files, conf=conf))
    spec = house.face.context.files.spec(begun.job, begun.id)
    assert house.face.ask(ShowVersion(begun.version)).conf == conf, "what the version says stays as it is"
    return spec.conf.get(OPTIONS, "")


def test_the_drivers_jvm_is_told_of_it(house: House) -> None:
    options = run(house, "a", {"log4j2.properties": PROPERTIES, "log4j2.xml": XML})
    (begun,) = house.face.context.files.run_ids(JobName("a"))
    place = house.face.layout.code(house.face.context.files.spec(JobName("a"), begun).version) / "log4j2.properties"
    assert options == f"{PROPERTY}{place.as_uri()}" and place.read_text() == PROPERTIES
    assert run(house, "b", {"log4j2.xml": XML}, **{OPTIONS: "-Xss4m"}).startswith(f"-Xss4m {PROPERTY}file:///")
    own = f"{PROPERTY}file:///etc/mine.xml"
    assert run(house, "c", {"log4j2.xml": XML}, **{OPTIONS: own}) == own
    assert run(house, "d", {"conf/log4j2.xml": XML}) == ""
    assert run(house, "e", {}, **{STRUCTURED: "true"}) == f"{PROPERTY}{SPARKS_JSON}"
    assert SPARKS_JSON not in run(house, "f", {"log4j2.xml": XML}, **{STRUCTURED: "true"})


def test_a_fork_changes_it_and_its_difference_is_a_files(house: House) -> None:
    house.ran("a")
    savepoint = do(house.face, Take("a")).id
    begun = do(house.face, Fork(savepoint, name="b", files={"log4j2.properties": PROPERTIES}))
    assert house.face.ask(ShowVersion(begun.version)).files == {"log4j2.properties": PROPERTIES}
    assert PROPERTY in house.face.context.files.spec(begun.job, begun.id).conf[OPTIONS]


WRONG = [
    ("log4j2.xml", "<Configuration>", "no XML"),
    ("log4j2.xml", "<beans/>", "<beans>"),
    ("log4j2.xml", '<!DOCTYPE a [<!ENTITY b "c">]><Configuration>&b;</Configuration>', "entities"),
    ("log4j2.json", "{", "no JSON"),
    ("log4j2.json", "[]", "Configuration"),
    ("log4j2.properties", "# nothing\n", "says nothing"),
    ("log4j2.properties", "log4j.rootCategory=INFO, console\n", "log4j 1"),
    ("log4j2.properties", PROPERTIES.replace("appender.c.type = Console\n", ""), "appender.c has no type"),
    ("log4j2.properties", PROPERTIES.replace("ref = console", "ref = others"), "'others'"),
]


@pytest.mark.parametrize(("name", "text", "why"), WRONG)
def test_one_that_log4j_would_pass_over_is_refused(house: House, name: str, text: str, why: str) -> None:
    with pytest.raises(Invalid) as refused:
        house.face.plan(RunScript(name="a", script="job.py", code=CODE, files={name: text}))
    assert refused.value.code == "code.log4j" and why in refused.value.message and name in refused.value.message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log4j2.properties", PROPERTIES),
        ("log4j2.xml", XML),
        ("log4j2.json", '{"configuration": {}}'),
        ("log4j2.yaml", "Configuration:\n"),
    ],
)
def test_one_that_fits_is_none(name: str, text: str) -> None:
    assert log_configuration.problem(name, text.encode()) == ""
