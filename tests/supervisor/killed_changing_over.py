"""Has job `a` changed over and is killed (SIGKILL, itself) before a step: WORKSPACE, which of `CHANGES`, what it would write (a document's
name, or its folder), and which writing of that; or `forget` for the end (`process_forks`)."""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path
from typing import Any

from pipelines.domain.operations import Operation, OperationState
from pipelines.storage.local import LocalStorage
from pipelines.verbs.operations import ShowOperation
from pipelines.verbs.promote import Promote
from pipelines.verbs.rescale import Rescale
from pipelines.verbs.upgrade import Upgrade
from pipelines.verbs.verb import Change
from pipelines.workspace import changeovers
from tests.supervisor.conftest import House
from tests.workspace import process_forks

CHANGES: dict[str, Change[Operation, Any]] = {
    "upgrade": Upgrade("a", code="x = 2\n", check=False),
    "promote": Promote("b", check=False),
    "rescale": Rescale("a", 4),
}


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(root: str, kind: str, what: str, number: str) -> None:
    house, writings, write = House(Path(root)), itertools.count(1), LocalStorage.write

    def dying(self: LocalStorage, path: str, data: bytes) -> None:
        if what in Path(path).parts and next(writings) == int(number):
            die()
        write(self, path, data)

    LocalStorage.write = dying
    if what == "forget":
        changeovers._forget = die
    operation = house.workspace.begin(CHANGES[kind]).operation
    assert operation is not None
    while house.workspace.ask(ShowOperation(operation.id)).state is OperationState.RUNNING:
        house.supervisor.tick()


if __name__ == "__main__":
    process_forks.each(main)
