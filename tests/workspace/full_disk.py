"""Runs commands on a workspace whose disk is read-only, and then full: `unshare -rm python -m tests.workspace.full_disk FOLDER`.

Prints as JSON what each of them ended with.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from pipelines.cli.app import app
from pipelines.verbs.face import do
from pipelines.verbs.take import Take
from tests.workspace.conftest import House


def fill(filler: Path) -> None:
    """Takes all that is left of the disk, to the last page."""
    for size in (65_536, 4_096, 1):
        with filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(size)):
                pass


def main(disk: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(disk)], check=True)
    house = House(disk / "ws")
    run = house.ran("a")
    saved = do(house.face, Take("a", label="large"))
    for path in Path(run.checkpoints).rglob("*.zip"):  # only the savepoint holds them now: disposing of it makes room
        path.unlink()
    house.face.close()
    annotated = ["annotate", saved.id, "--label", "x"]
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    export = ["export", saved.id, str(disk.with_name(f"{disk.name}-elsewhere"))]
    read_only = [ended(house.root, words) for words in (["savepoints"], annotated, ["catalog", "rebuild"], export)]
    read_only.append(ended(disk / "none", ["backup", "restore", str(disk)]))
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    fill(disk / "filler")
    listed = (["list"], ["savepoints"], annotated, ["catalog", "rebuild"])
    full = (*listed, *recording(saved.id, disk), ["dispose", saved.id], ["savepoints", "--json"])
    print(json.dumps([*read_only, *(ended(house.root, words) for words in full)]))


def recording(savepoint: str, disk: Path) -> list[list[str]]:
    """Commands that could do what is asked of them, and have no room to note that they did."""
    elsewhere = disk.with_name(f"{disk.name}-elsewhere.tar.zst")
    verify = [["verify", savepoint, "--level", level] for level in ("complete", "intact")]
    return [*verify, ["export", savepoint, str(elsewhere)], ["export", savepoint, str(elsewhere), "--then-dispose"]]


def ended(root: Path, words: list[str]) -> dict[str, object]:
    """What the command ended with."""
    done = CliRunner().invoke(app, [*words, "--workspace", str(root)])
    failed = repr(done.exception) if done.exception and not isinstance(done.exception, SystemExit) else ""
    return {"code": done.exit_code, "out": done.stdout, "err": done.stderr, "failed": failed}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
