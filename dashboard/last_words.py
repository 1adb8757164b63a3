"""What a server says on stderr when it ends: why it did not start, or that jobs go on."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pipelines.domain.errors import STATUS_AND_EXIT_CODES, TidemarkError


def say(level: int, words: str, structured_log: bool = False) -> None:
    """A line, or a line of the structured log."""
    if structured_log:
        logging.getLogger(__name__).log(level, words)
    else:
        print(words, file=sys.stderr, flush=True)


def failed(error: TidemarkError, structured_log: bool = False) -> int:
    """Says what the server failed with, and what to do; returns the exit code."""
    say(logging.ERROR, f"{error.message}\n{error.hint}", structured_log)
    return STATUS_AND_EXIT_CODES[error.group][1]


@contextmanager
def ended_by_errors() -> Iterator[None]:
    """Ends the process with what the block fails with: under `streamlit run`, Starlette would print where that was raised instead, and
    end with a code of its own."""
    try:
        yield
    except TidemarkError as error:
        code = failed(error)
        sys.stdout.flush()
        os._exit(code)
