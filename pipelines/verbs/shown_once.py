"""Changes whose answer is shown once."""

from __future__ import annotations


class ShownOnce:
    """A change whose answer is a secret that is kept nowhere: who sends it again does not see it again."""
