"""The server's own output: control characters of whatever it writes are shown, so that no name or address steers a terminal."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from pipelines.domain.texts import shown


class Shown:
    """A text stream that writes control characters as `\\x1b` and the like; ends of lines and tabs stay."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(shown(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def show() -> None:
    """Has this process write so from now on; for before anything keeps the streams that there are."""
    sys.stdout, sys.stderr = Shown(sys.stdout), Shown(sys.stderr)
