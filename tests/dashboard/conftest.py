"""Pages on a workspace in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dashboard import session
from tests.dashboard.opening import Opener


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Opener]:
    """Opens pages; afterwards no workspace is open."""
    yield Opener(monkeypatch)
    session.open_with(None)
