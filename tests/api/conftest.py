"""One server for all tests of this folder; each test finds a fresh sample behind it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from pipelines.storage.layout import Layout
from tests.api.serving import serving
from tests.faces import FakeFace


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return Layout(tmp_path_factory.mktemp("workspace"))


@pytest.fixture(scope="module")
def served(layout: Layout) -> Iterator[tuple[FakeFace, httpx.Client]]:
    face = FakeFace()
    with serving(face, layout) as url, httpx.Client(base_url=f"{url}/api", trust_env=False, timeout=60) as http:
        yield face, http


@pytest.fixture
def face(served: tuple[FakeFace, httpx.Client]) -> FakeFace:
    served[0].begin_again(busy=True)
    return served[0]


@pytest.fixture
def client(served: tuple[FakeFace, httpx.Client], face: FakeFace) -> httpx.Client:
    return served[1]
