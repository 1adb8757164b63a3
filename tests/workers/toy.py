"""A worker that does what it is told: `python -m tests.workers.toy`."""

from __future__ import annotations

import os
import time
from typing import Any

from pipelines.domain.errors import NotFound
from pipelines.workers.child import Caller, serve

KEPT: list[bytes] = []


def do(request: Any, caller: Caller) -> Any:
    match request:
        case ["sleep", seconds]:
            time.sleep(seconds)
        case ["fill", size]:
            KEPT.append(b"x" * size)
        case ["talk", size]:
            return "x" * size
        case ["die", code]:
            os._exit(code)
        case ["print", text]:
            print(text)
        case ["ask", question]:
            caller.ask(question)
        case ["count", most]:
            caller.step("counting", most)
            for _ in range(most):
                caller.advance(1)
        case ["miss", name]:
            raise NotFound("toy.not_found", f"There is no {name}", "Name another.")
        case ["fail", words]:
            raise LookupError(words)
    return os.getpid()


if __name__ == "__main__":
    serve(do)
