"""A JVM, and what a driver and the keeper of the tests say to each other about it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

SOCKET = "TIDEMARK_TESTS_JVMS"
"""Environment variable with the keeper's socket, in a folder in which JVMs may write."""
BYTES = 1 << 20
GIVEN_BACK = "given back"


@dataclass(frozen=True)
class Jvm:
    """A JVM: where PySpark reaches it, and the properties of Spark that it was started with."""

    pid: int
    port: int
    secret: str
    properties: dict[str, str]
    kind: str = ""
    stdin: int = field(default=-1, compare=False)
    """The keeper's end of the pipe."""

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.close(self.stdin)


def encoded(jvm: Jvm | None) -> Any:
    """What goes over the socket."""
    return jvm and [jvm.pid, jvm.port, jvm.secret, jvm.properties]
