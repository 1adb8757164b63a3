"""A pause of the garbage collector, for work that makes hundreds of thousands of small objects that all stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """No search for reference cycles inside; counting references goes on, which is what frees almost everything.

    Meant for one step of work that lists many files: with 50,000 of them the searches are a tenth of its time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
