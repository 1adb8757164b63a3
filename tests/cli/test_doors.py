"""Which way a command goes, in a process of its own: over the running server, or into the workspace."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import psutil
import pytest

from pipelines.api import problems
from pipelines.client.servers import Running, active_address, connect, running_server
from pipelines.domain.errors import Conflict, Unauthenticated, Unavailable
from pipelines.domain.operations import OperationState
from pipelines.storage import hosts, keys
from pipelines.storage.layout import Layout
from pipelines.verbs.forget import Forget
from pipelines.verbs.jobs import ListJobs
from pipelines.verbs.operations import ListOperations, ShowOperation
from pipelines.verbs.take import Take
from pipelines.verbs.verify import Verify
from pipelines.workspace.opening import open_workspace
from tests import changes, samples
from tests.api.serving import serving
from tests.entering import announce
from tests.faces import FakeFace

REPOSITORY = Path(__file__).parents[2]
FIRST = "sp-000000000002"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path)


@pytest.fixture
def face() -> FakeFace:
    return FakeFace.sample()


@pytest.fixture
def url(face: FakeFace, layout: Layout) -> Iterator[str]:
    """A server of the fake that says so in the workspace, as the real one does."""
    with serving(face, layout) as url:
        announce(layout, url)
        yield url


def tidemark(layout: Layout, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pipelines", *words, "--workspace", str(layout.root)]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)


def test_a_command_talks_to_the_server_that_runs(layout: Layout, url: str, face: FakeFace) -> None:
    done = tidemark(layout, "savepoint", "post_engagement", "--label", "from outside")
    take = Take("post_engagement", label="from outside")
    assert face.begun == [take]
    assert (done.returncode, done.stdout) == (0, f"{changes.taken(face, take).path}\n")


def test_errors_of_the_server_are_the_commands(layout: Layout, url: str, face: FakeFace) -> None:
    done = tidemark(layout, "show", "nobody", "--json")
    assert (done.returncode, done.stdout) == (3, "")
    assert json.loads(done.stderr)["error"]["code"] == "job.not_found"
    face.refuses(Forget, Conflict("job.running", "post_engagement runs", "Stop it first."))
    refused = tidemark(layout, "forget", "post_engagement")
    assert (refused.returncode, refused.stdout, refused.stderr) == (5, "", "error: post_engagement runs\nhint: Stop it first.\n")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_command_that_is_ended_cancels_its_operation_on_the_server(layout: Layout, number: signal.Signals, code: int) -> None:
    face = FakeFace.sample()
    face.answers(Verify, samples.begun("op-1", "verify", "post_engagement", FIRST))
    with serving(face, layout) as url:
        announce(layout, url)
        command = [sys.executable, "-m", "pipelines", "verify", FIRST, "--workspace", str(layout.root)]
        with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
            try:
                until(lambda: ShowOperation("op-1") in face.asked or started.poll() is not None)
                started.send_signal(number)
                out, err = started.communicate()
            finally:
                started.kill()
    assert (started.returncode, out) == (code, "")
    assert err == "cancelling the verify; what it made is being removed\nthe verify was cancelled\n"
    assert [operation.state for operation in face.ask(ListOperations())] == [OperationState.CANCELLED]


def until(condition: Callable[[], bool]) -> None:
    """Waits for it; the test's own time limit ends what never comes."""
    while not condition():
        threading.Event().wait(0.02)


def test_a_pipe_that_closes_is_no_traceback(layout: Layout, url: str) -> None:
    command = f"{sys.executable} -m pipelines list --workspace {layout.root} | true"
    done = subprocess.run(["sh", "-c", command], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


def test_a_server_is_found(layout: Layout, url: str) -> None:
    assert running_server(layout) == Running(url, "")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"{}", b'{"url": "http://127.0.0.1:1"}'],
    ids=["empty", "cut", "list", "nothing", "part"],
)
def test_a_strange_server_file_is_no_server(layout: Layout, content: bytes) -> None:
    layout.server_file.write_bytes(content)
    assert running_server(layout) is None


def test_no_server_file_is_no_server(layout: Layout) -> None:
    assert running_server(layout) is None


def test_another_process_with_that_pid_is_no_server(layout: Layout, url: str) -> None:
    announce(layout, url, started=psutil.Process().create_time() - 60)
    assert running_server(layout) is None


def test_a_process_that_is_gone_is_no_server(layout: Layout, url: str) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    announce(layout, url, pid=gone.pid)
    assert running_server(layout) is None


def test_a_server_that_does_not_answer_is_none(layout: Layout) -> None:
    with serving(FakeFace(), layout) as url:
        pass
    announce(layout, url)
    assert running_server(layout) is None


class Refusing(BaseHTTPRequestHandler):
    """A server that lets no token in."""

    def do_GET(self) -> None:
        self.send_response(401)
        self.end_headers()
        self.wfile.write(problems.written(Unauthenticated("access.token", "The token has expired."), 401))

    def log_message(self, *_: object) -> None:
        pass


def test_a_token_that_lets_nobody_in_is_said(layout: Layout) -> None:
    """The command opens no workspace that the server has."""
    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        announce(layout, f"http://127.0.0.1:{server.server_port}")
        done = tidemark(layout, "list")
        server.shutdown()
    assert (done.returncode, done.stderr) == (10, "error: The token has expired.\n")


def test_the_server_of_another_workspace_is_none(layout: Layout, tmp_path: Path) -> None:
    with serving(FakeFace(), Layout(tmp_path / "other")) as url:
        announce(layout, url)
        assert running_server(layout) is None


THERE = {"name": "b", "boot": "another", "pids": "pid:[1]"}


def test_a_server_of_another_host_is_reached_where_others_are_meant_to(layout: Layout, url: str) -> None:
    """What answers at its address on loopback here is somebody else, and must not see the key."""
    announce(layout, url, host=THERE)
    assert running_server(layout) is None
    assert active_address(layout) == "the server on b"
    announce(layout, "http://127.0.0.1:1", address=url, open=True, host=THERE, certificate="/not/here.pem")
    assert running_server(layout) == Running(url, "", public=url)
    assert active_address(layout) == url


def test_a_server_of_this_host_before_it_was_booted_anew_is_none(layout: Layout, url: str) -> None:
    announce(layout, url, host={**asdict(hosts.here()), "boot": "the one before"})
    assert running_server(layout) is None
    assert active_address(layout) == ""


def test_a_workspace_that_another_host_has_open_is_said_to_be_there(layout: Layout) -> None:
    with closing(open_workspace(layout.root)):
        announce(layout, "http://127.0.0.1:1", host=THERE)
        done = tidemark(layout, "list")
    assert done.returncode == 9
    assert "is on b" in done.stderr and "process" not in done.stderr


def test_without_a_server_the_workspace_is_opened(layout: Layout) -> None:
    open_workspace(layout.root).close()
    listed = tidemark(layout, "list", "--json")
    assert (listed.returncode, json.loads(listed.stdout)) == (0, []), listed.stderr
    missing = tidemark(layout, "logs", "nobody")
    assert (missing.returncode, missing.stdout) == (3, "")
    assert missing.stderr.startswith("error: ") and "\nhint: " in missing.stderr


def test_a_catalog_that_cannot_be_read_is_rebuilt(layout: Layout) -> None:
    open_workspace(layout.root).close()
    assert tidemark(layout, "list").returncode == 0
    layout.catalog_file.write_bytes(b"this is no database")
    broken = tidemark(layout, "list")
    assert broken.returncode == 7 and "catalog rebuild" in broken.stderr
    assert tidemark(layout, "catalog", "rebuild").returncode == 0
    assert tidemark(layout, "list").returncode == 0


def test_the_address_and_the_python_client_show_the_workspaces_key(layout: Layout, url: str) -> None:
    key = keys.kept_key(layout.key_file)
    assert tidemark(layout, "address").stdout == f"{url}/?token={key}\n"
    assert tidemark(layout, "address", "--token").stdout == f"{key}\n"
    server = connect(layout.root)
    assert [summary.job.name for summary in server.ask(ListJobs())] != []
    server.close()


def test_without_a_server_there_is_no_address(layout: Layout) -> None:
    assert "python3 -m dashboard" in tidemark(layout, "address").stderr
    with pytest.raises(Unavailable, match="no server of"):
        connect(layout.root)
