"""Kinds of operation: what changes work as, in words."""

from __future__ import annotations

from pipelines import verbs

KNOWN = {
    "take",
    "fork",
    "resume",
    "stop",
    "cancel",
    "verify",
    "prove",
    "diagnose",
    "export",
    "import",
    "read",
    "promote",
    "drop",
    "rescale",
    "upgrade",
    "replay",
    "bisect",
}
"""Kinds that workspaces of today have in their catalogs."""


def test_a_kind_is_called_the_same_by_each_change_that_works_as_it() -> None:
    assert all(verbs.kinds()[name] == kind for change in verbs.changes() for name, kind in change.kinds.items())


def test_all_kinds_have_words() -> None:
    assert verbs.kinds().keys() >= KNOWN
    assert all(kind.doing and kind.done for kind in verbs.kinds().values())
