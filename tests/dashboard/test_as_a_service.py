"""Tidemark as a service: whether it is ready, its log as JSON, its unit of systemd and its container file."""

from __future__ import annotations

import configparser
import json
import logging
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard import environment, server
from dashboard.__main__ import command_line
from dashboard.installing import SetupFailed
from dashboard.readiness import SILENT_S, Readiness
from pipelines.domain.ids import JobName
from pipelines.supervisor.loop import SupervisorLoop
from pipelines.workspace import events
from tests.waiting import until
from tests.workspace.conftest import House

ROOT = Path(server.__file__).resolve().parents[1]
DEPLOY = ROOT / "data" / "deploy"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    here = House(tmp_path / "ws")
    yield here
    here.face.close()


def test_it_is_ready_while_its_supervisor_looks_after_jobs(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    readiness, loop = Readiness(), SupervisorLoop(house.face, interval=0.01)
    assert readiness.why_not() == "the workspace is not open yet"
    readiness.silence = loop.silence_s
    monkeypatch.setattr(loop, "_passed_s", time.monotonic() - SILENT_S - 1)
    assert readiness.why_not() == "the supervisor has looked after no job for 61 s"
    monkeypatch.setattr(loop._supervisor, "tick", lambda: 1 / 0)
    loop.start()
    try:
        silent_s = loop.silence_s()
        until(lambda: loop.silence_s() > silent_s + 0.1)
        assert readiness.why_not() != "", "a pass that fails is none"
        monkeypatch.undo()
        until(lambda: readiness.why_not() == "")
    finally:
        loop.stop()


LOGGING = """
import logging, sys
from dashboard import server_log
import streamlit
server_log.structured()
logging.getLogger("tidemark.events").warning("%s", "it failed\\n\\x1b[2J", extra={"event": "run.failed", "job": "clicks"})
logging.getLogger("a").info("said")
logging.getLogger("a").debug("not said")
streamlit.logger.get_logger("streamlit.later").warning("of Streamlit")
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("uvicorn.error").exception("broke")
"""


def test_the_set_up_before_it_writes_documents_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fails(module: str, arguments: list[str], say: environment.Say) -> None:
        say("creating it")
        raise SetupFailed("No room.\nMake some.")

    monkeypatch.setattr(environment, "enter", fails)
    with pytest.raises(SystemExit) as ended:
        environment.run("dashboard", [], structured_log=True)
    first, last = map(json.loads, capsys.readouterr().err.splitlines())
    assert (first["level"], first["message"], last["level"], last["message"]) == ("INFO", "creating it", "ERROR", "No room.\nMake some.")
    assert ended.value.code == 1 and first.keys() == last.keys() == {"timestamp", "level", "logger", "message", "job"}
    with pytest.raises(SystemExit, match="No room"):
        environment.run("dashboard", [])


def test_each_line_of_its_log_is_a_document() -> None:
    process = subprocess.run([sys.executable, "-c", LOGGING], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (process.returncode, process.stdout) == (0, ""), process.stderr
    failed, info, streamlit, broke = map(json.loads, process.stderr.splitlines())
    assert {name: failed[name] for name in ("level", "logger", "message", "event", "job")} == {
        "level": "WARNING",
        "logger": "tidemark.events",
        "message": "it failed\n\x1b[2J",
        "event": "run.failed",
        "job": "clicks",
    }
    assert failed["timestamp"].endswith("+00:00") and "\x1b" not in process.stderr
    assert (info["level"], info["message"]) == ("INFO", "said")
    assert [line["job"] for line in (failed, info, streamlit, broke)] == ["clicks", None, None, None], "each says which job it is about"
    assert (streamlit["logger"], streamlit["message"]) == ("streamlit.later", "of Streamlit")
    assert "ZeroDivisionError" in broke["exc_info"]


def test_the_workspace_of_commands_is_the_servers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_WORKSPACE", "/srv/streams")
    assert command_line().parse_args([]).workspace == "/srv/streams"
    assert command_line().parse_args(["--workspace", "/srv/other"]).workspace == "/srv/other"


def test_what_happens_in_a_workspace_is_in_a_log_of_that_level(house: House, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tidemark.events"):
        events.say(house.face.context, "run.failed", JobName("a"), "r-1", "the driver of a failed")
        events.say(house.face.context, "savepoint.taken", JobName("a"), "sp-1", "savepoint sp-1")
    failed, taken = [record for record in caplog.records if record.name == "tidemark.events"]
    assert (failed.levelname, failed.event, failed.job, failed.subject) == ("WARNING", "run.failed", "a", "r-1")  # type: ignore[attr-defined]
    assert (taken.levelname, taken.message) == ("INFO", "savepoint sp-1")


def test_the_unit_starts_what_there_is_and_leaves_drivers_alone(tmp_path: Path) -> None:
    unit = configparser.ConfigParser(interpolation=None, comment_prefixes="#")
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string((DEPLOY / "tidemark.service").read_text())
    service = unit["Service"]
    _, _, module, *arguments = shlex.split(service["ExecStart"])
    options = command_line().parse_args(arguments)
    assert (module, options.workspace, options.log_format) == ("dashboard", f"/var/lib/{service['StateDirectory']}", "json")
    assert service["KillMode"] == "process" and service["StandardOutput"] == "null"
    assert int(service["TimeoutStopSec"]) > server.INSIST_SECONDS
    if analyze := shutil.which("systemd-analyze"):
        assert lines_it_refuses(analyze, DEPLOY / "tidemark.service") == []
        wrong = tmp_path / "tidemark.service"
        wrong.write_text((DEPLOY / "tidemark.service").read_text().replace("KillMode=process", "KillMode=some"))
        assert lines_it_refuses(analyze, wrong) != []


def lines_it_refuses(analyze: str, unit: Path) -> list[str]:
    """What systemd says of the unit's lines; whether this machine has its user and its other units is another matter."""
    output = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True, timeout=120).stderr
    return [line for line in output.splitlines() if re.search(rf"{unit.name}:\d+", line)]


def test_the_container_starts_what_there_is_and_copies_what_it_needs() -> None:
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    entry = json.loads(next(line for line in lines if line.startswith("ENTRYPOINT")).removeprefix("ENTRYPOINT"))
    options = command_line().parse_args(entry[entry.index("dashboard") + 1 :])
    assert (options.workspace, options.log_format, options.port) == ("/workspace", "json", 8501)
    copied = {word for line in lines if line.startswith("COPY") for word in line.split()[2:-1]}
    assert copied == {"requirements.txt", "dashboard", "pipelines"} and all((ROOT / name).exists() for name in copied)
    assert not any("tests" in line for line in lines)
