"""Pages on a workspace in memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from streamlit.components.v2 import manifest_scanner

from dashboard import session
from tests.dashboard.opening import Opener


@pytest.fixture(scope="package", autouse=True)
def _components_scanned_once() -> Iterator[None]:
    """Streamlit's server looks for components in the metadata of every installed package when it starts, `AppTest` for each page: that took
    nine tenths of a page's time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Opener]:
    """Opens pages; afterwards no workspace is open."""
    yield Opener(monkeypatch)
    session.open_with(None)
