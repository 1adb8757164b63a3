"""How the server begins: whom it would be open to, where it listens, what it says where it cannot."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dashboard import assembly, server, session
from dashboard.reach import Reach, refuse_open_host
from pipelines.api.push.settings import chosen
from pipelines.domain.errors import Unavailable, Unsupported
from pipelines.verbs.system import ShowAbout
from tests.api.receivers import Collector, collecting
from tests.waiting import until

ROOT = Path(server.__file__).resolve().parents[1]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.1.2.3"])
def test_this_machine_is_safe(host: str) -> None:
    refuse_open_host(host)
    assert not Reach(host).checked().is_open


@pytest.mark.parametrize("host", ["0.0.0.0", "", "::", "192.168.1.5", "example.org"])
def test_a_server_stays_on_this_machine(host: str) -> None:
    with pytest.raises(Unsupported) as refused:
        refuse_open_host(host)
    assert refused.value.code == "server.no_access_control"
    assert "SSH" in refused.value.hint
    with pytest.raises(Unsupported) as refused:
        Reach(host, ("example.org",)).checked()
    assert refused.value.code == "server.not_encrypted"


def test_listening_without_delay() -> None:
    with server.listening("127.0.0.1", 0) as bound:
        assert bound.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        with pytest.raises(Unavailable) as refused:
            server.listening("127.0.0.1", bound.getsockname()[1])
    assert refused.value.code == "server.port"


def test_what_cannot_be_served_is_said_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert server.main(Reach("0.0.0.0"), 0, str(tmp_path), False) == 8
    assert "unencrypted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "marker", "code", "words"),
    [
        ("127.0.0.1", '{"format": 99, "id": "w", "created_ms": 1}', 8, "Update Tidemark"),
        ("127.0.0.1", "{", 7, "workspace.json is damaged"),
        ("0.0.0.0", "", 8, "SSH tunnel"),
    ],
    ids=["newer format", "damaged", "open to others"],
)
def test_under_streamlit_run_it_is_said_in_the_same_words(address: str, marker: str, code: int, words: str, tmp_path: Path) -> None:
    if marker:
        (tmp_path / "workspace.json").write_text(marker)
    command = [sys.executable, "-m", "streamlit", "run", "dashboard/server.py", "--server.headless", "true", "--server.port", "0"]
    environment = {**os.environ, "TIDEMARK_WORKSPACE": str(tmp_path)}
    done = subprocess.run([*command, "--server.address", address], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == code and words in done.stderr
    assert "Traceback" not in done.stderr + done.stdout


def test_a_receiver_of_metrics_that_means_nothing_is_said_before_anything_is_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    assert server.main(Reach(), 0, str(tmp_path / "w"), False) == 2
    message = capsys.readouterr().err
    assert "OTEL_EXPORTER_OTLP_PROTOCOL is 'grpc'" in message and "http/protobuf" in message
    assert not (tmp_path / "w").exists()


def test_an_open_server_pushes_its_metrics_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector = Collector()
    with collecting(collector) as url:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "100")
        api = assembly.Api()
        with assembly.assembled(assembly.Settings(tmp_path / "w", 1, receivers=chosen(os.environ)), api):
            workspace = api.app.state.face
            until(lambda: workspace.ask(ShowAbout()).pushes[0].pushed_ms, 60)
            workspace_id = workspace.ask(ShowAbout()).storage.workspace_id
    assert collector.samples()[("tidemark_jobs", frozenset())] == 0
    assert collector.resource()["service.instance.id"] == workspace_id


def test_addresses() -> None:
    assert Reach().url(1) == "http://127.0.0.1:1"
    assert Reach("::1").url(1) == "http://[::1]:1"
    by_name = Reach("0.0.0.0", ("a.example", "b.example"), certificate="c.pem")
    assert (by_name.url(1), by_name.local_url(1)) == ("https://a.example:1", "https://127.0.0.1:1")
    behind = Reach("127.0.0.1", ("a.example",), proxy="127.0.0.1")
    assert (behind.url(1), behind.local_url(1), behind.is_open) == ("https://a.example", "http://127.0.0.1:1", True)
    assert Reach("192.168.1.5", ("a.example",)).hosts == {"127.0.0.1", "localhost", "::1", "192.168.1.5", "a.example"}
    assert "0.0.0.0" not in by_name.hosts


def test_pages_say_that_the_workspace_is_not_open_yet() -> None:
    with pytest.raises(Unavailable) as refused:
        session.workspace()
    assert refused.value.code == "server.starting"


def test_the_server_says_where_it_is_while_it_is_there(tmp_path: Path) -> None:
    server_file = tmp_path / "server.json"
    with assembly.announced(assembly.Settings(tmp_path, 1), assembly.Api()):
        assert '"url": "http://127.0.0.1:1"' in server_file.read_text()
    assert not server_file.exists()


def test_a_port_that_is_none_is_refused_in_words() -> None:
    with pytest.raises(Unavailable, match="up to 65535"):
        server.listening("127.0.0.1", 70_000)


def test_a_server_that_was_told_to_end_does() -> None:
    """Also while something holds the interpreter's lock, as the sum does; what it did then is said."""
    code = "from threading import Event, Thread; from dashboard.server import end_within; Thread(target=Event().wait).start(); "
    code += "end_within(0.1); sum(range(10**13))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, capture_output=True, text=True)
    assert ended.returncode == 1 and "Timeout" in ended.stderr


def test_control_characters_of_its_output_are_shown() -> None:
    """Whoever writes it: a print, a log, a traceback."""
    code = """
from dashboard import shown_output
shown_output.show()
import logging
print("a\\x1b[2Jb\\tc")
logging.getLogger("tests").warning("d\\x1b]0;e")
raise LookupError("f\\x9bg")
"""
    process = subprocess.run([sys.executable, "-c", code.replace("\\\\", "\\")], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert process.stdout == "a\\x1b[2Jb\tc\n"
    assert "d\\x1b]0;e" in process.stderr and "f\\x9bg" in process.stderr and "\x1b" not in process.stderr
