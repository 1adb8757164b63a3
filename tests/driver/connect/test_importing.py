"""A module that is wrapped when it is imported, and not before."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pipelines.driver.connect import importing


@pytest.fixture
def name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a module that nothing has imported."""
    (tmp_path / "looked_at.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.delitem(sys.modules, "looked_at", raising=False)
    return "looked_at"


def test_it_is_called_when_the_module_is_whole(name: str) -> None:
    seen: list[ModuleType] = []
    importing.once_imported(name, seen.append)
    assert name not in sys.modules and not seen
    module = importlib.import_module(name)
    assert seen == [module] and module.value == 1
    importlib.reload(module)
    assert seen == [module], "once"


def test_a_module_that_is_there_is_not_waited_for(name: str) -> None:
    seen: list[ModuleType] = []
    module = importlib.import_module(name)
    importing.once_imported(name, seen.append)
    assert seen == [module]
