"""A pause of the garbage collector, for work that makes hundreds of thousands of small objects that all stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pauses the search for reference cycles; reference counting goes on, which frees almost everything.

    Meant for one step of work that lists many files: with 50,000 of them the searches are a tenth of its time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
