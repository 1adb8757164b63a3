"""Places that tests with real Spark work in."""

from __future__ import annotations

from pathlib import Path

ODD = "my data #1 (ä) 100%"
"""A folder's name as people give it, with what a URL would have to encode."""


def odd(folder: Path) -> Path:
    """A folder of such a name in `folder`, open to others also where a workspace that was opened before closes new ones to them."""
    made = folder / ODD
    made.mkdir()
    made.chmod(0o755)
    return made
