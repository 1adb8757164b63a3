"""Which of what a run on a cluster needs answers: the cluster itself, and the job's home."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from pipelines.domain.applications import UNANSWERED_FILE, Unanswered
from pipelines.domain.errors import TidemarkError
from pipelines.supervisor.afar.starting import write


class Answering:
    """Says once in the run's log why one of them does not answer, and notes it in the run's `folder` until both do. Threads share it."""

    def __init__(self, folder: Path, now_ms: Callable[[], int]) -> None:
        self._folder = folder
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self._silent: dict[str, Unanswered] = {}
        (folder / UNANSWERED_FILE).unlink(missing_ok=True)

    def trying(self, who: str, act: Callable[[], None]) -> bool:
        """Whether `act`, which asks `who`, was carried out. The next look tries again."""
        try:
            act()
        except (TidemarkError, OSError, subprocess.SubprocessError) as error:
            self._note(who, f"{type(error).__name__}: {error}")
            return False
        self._note(who, "")
        return True

    def _note(self, who: str, message: str) -> None:
        with self._lock:
            before = self._silent.get(who)
            if message == (before.message if before else ""):
                return
            if message:
                say(message)
                self._silent[who] = Unanswered(before.since_ms if before else self._now_ms(), message)
            else:
                del self._silent[who]
            _write(self._folder, self._silent)


def _write(folder: Path, silent: Mapping[str, Unanswered]) -> None:
    if silent:
        write(folder, UNANSWERED_FILE, min(silent.values(), key=lambda each: each.since_ms))
    else:
        (folder / UNANSWERED_FILE).unlink(missing_ok=True)


def say(text: str) -> None:
    print(f"[tidemark] {text.strip()}", flush=True)
