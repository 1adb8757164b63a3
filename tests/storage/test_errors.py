"""What a real disk refuses, whichever way it is written to: full, read-only, without the right."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.storage.s3_server import ROOT

PROGRAM = """
import json, os, subprocess, sys
from pathlib import Path
from pipelines.domain.errors import TidemarkError
from pipelines.storage import copies, folders
from pipelines.storage.local import LocalStorage
from pipelines.storage.protocol import Clone

refusal, place, source = sys.argv[1], Path(sys.argv[2]), LocalStorage(sys.argv[3])
if refusal != "denied":
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], check=True)
storage = LocalStorage(place)
storage.write("a", b"kept")
large = source.read("large")
if refusal == "read_only":
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
if refusal == "denied":
    place.chmod(0o555)
    if os.geteuid() == 0:
        os.setresuid(65534, 65534, 65534)

def stream():
    with copies.writing(storage, "b") as file:
        for _ in range(8):
            file.write(large[:300_000])

ways = {
    "write": lambda: storage.write("b", large),
    "replace": lambda: storage.write("a", large),
    "stream": stream,
    "clone": lambda: list(storage.clone(source, [Clone("large", "b"), Clone("large", "c")])),
    "put": lambda: folders.put(storage, {"d/e": large}),
}
said = {}
for name, way in ways.items():
    try:
        way()
    except TidemarkError as error:
        said[name] = [error.code, bool(error.hint)]
files = {entry.path: storage.read(entry.path).decode() for entry in storage.list()}
print(json.dumps({"said": said, "files": files, "swept": storage.sweep()}))
"""


@pytest.mark.parametrize("refusal", ["full", "read_only", "denied"])
def test_every_way_of_writing_is_refused_alike_and_leaves_nothing(refusal: str, other_disk: Path) -> None:
    """A disk of 1 MB that only this process sees; for `denied` the process gives up root's rights."""
    place, source = other_disk / "place", other_disk / "source"
    for folder in (other_disk, place, source):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
    (source / "large").write_bytes(bytes(2_000_000))
    (source / "large").chmod(0o644)
    namespace = [] if refusal == "denied" else ["unshare", "-rm"]
    command = [*namespace, sys.executable, "-c", PROGRAM, refusal, str(place), str(source)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, umask=0o022)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["said"] == {way: [f"storage.{refusal}", True] for way in ("write", "replace", "stream", "clone", "put")}
    assert (report["files"], report["swept"]) == ({"a": "kept"}, 0)
