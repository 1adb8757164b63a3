"""Plain names of checkpoints for Spark's state reader, which percent-encodes a path once more than it decodes it.

With a space or `#` in the path it looks for a folder that is not there (`STDS_COMMITTED_BATCH_UNAVAILABLE`; measured with Spark 4.3.0).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from pipelines.sandbox.counts import Store
from pipelines.storage import handover

PLAIN = re.compile(r"[A-Za-z0-9/._-]*")


@contextmanager
def plain(stores: Sequence[Store]) -> Iterator[tuple[Store, ...]]:
    """The stores, with a symbolic link in place of each local checkpoint whose path has other characters; the links go with the block."""
    odd = sorted({store.checkpoint for store in stores if "://" not in store.checkpoint and not PLAIN.fullmatch(store.checkpoint)})
    if not odd:
        yield tuple(stores)
        return
    with tempfile.TemporaryDirectory(prefix="tidemark-state-") as folder:
        links = {checkpoint: str(Path(folder, str(number))) for number, checkpoint in enumerate(odd)}
        for checkpoint, link in links.items():
            Path(link).symlink_to(checkpoint)
        handover.admit(Path(folder))
        yield tuple(replace(store, checkpoint=links.get(store.checkpoint, store.checkpoint)) for store in stores)
