"""Backs a workspace up and is killed (SIGKILL, itself) at a point of it: WORKSPACE, URL, POINT (`process_forks`)."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from pipelines.storage import contents
from pipelines.verbs.backups import CreateBackup
from pipelines.verbs.face import do
from pipelines.workspace.backups import making
from pipelines.workspace.opening import open_workspace
from pipelines.workspace.tickets import Ticket
from tests.workspace import process_forks


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def half_a_content() -> None:
    """Of more than 100 bytes, half of which are on disk."""
    poured = contents._poured

    def dying(stream: BinaryIO, file: BinaryIO, most: int, advance: Any) -> tuple[str, int]:
        if most > 100:
            file.write(stream.read(most // 2))
            file.flush()
            die()
        return poured(stream, file, most, advance)

    contents._poured = dying


def at_step(begins: str) -> None:
    step = Ticket.step

    def dying(self: Ticket, named: str, total: int = 0, unit: str = "bytes") -> None:
        if named.startswith(begins):
            die()
        step(self, named, total, unit)

    Ticket.step = dying


def before_its_name() -> None:
    replace = os.replace

    def dying(aside: str, target: str) -> None:
        if Path(target).parent.name == "backups" and Path(target).name.startswith("b-"):
            die()
        replace(aside, target)

    vars(os)["replace"] = dying


def at_the_look() -> None:
    making._refuse_incomplete = lambda storage, files: die()


POINTS: dict[str, Callable[[], None]] = {
    "content": half_a_content,
    "state": lambda: at_step("copying state of"),
    "savepoint": lambda: at_step("copying sp-"),
    "incomplete": at_the_look,
    "document": before_its_name,
}


def main(root: str, url: str, point: str) -> None:
    face = open_workspace(Path(root))
    POINTS[point]()
    do(face, CreateBackup(url))


if __name__ == "__main__":
    process_forks.each(main)
