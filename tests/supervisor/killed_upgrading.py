"""Upgrades job `a` and is killed (SIGKILL, itself) before a step: WORKSPACE, a document that it would write, and which writing of it; or
`forget` for the end (`process_forks`)."""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path

from pipelines.domain.operations import OperationState
from pipelines.storage.local import LocalStorage
from pipelines.verbs.operations import ShowOperation
from pipelines.verbs.upgrade import Upgrade
from pipelines.workspace import changeovers
from tests.supervisor.conftest import House
from tests.workspace import process_forks


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(root: str, document: str, number: str) -> None:
    house, writings, write = House(Path(root)), itertools.count(1), LocalStorage.write

    def dying(self: LocalStorage, path: str, data: bytes) -> None:
        if Path(path).name == document and next(writings) == int(number):
            die()
        write(self, path, data)

    LocalStorage.write = dying
    if document == "forget":
        changeovers._forget = die
    operation = house.workspace.begin(Upgrade("a", code="x = 2\n", check=False)).operation
    assert operation is not None
    while house.workspace.ask(ShowOperation(operation.id)).state is OperationState.RUNNING:
        house.supervisor.tick()


if __name__ == "__main__":
    process_forks.each(main)
