"""What modules of the user's hold once they are imported. The processes that call a script's functions import them anew, and never see what
the script changes in them afterwards (`settings.RATE = 2`): only what is defined in the script itself is sent along as it is."""

from __future__ import annotations

import copy
import sys
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Any

from pipelines.driver import installed
from pipelines.driver.planning import origins

CHANGEABLE = (list, dict, set, deque, defaultdict, OrderedDict)
MOST_THINGS = 50_000
_kept: dict[int, tuple[object, Any]] = {}
"""Id -> a thing, which is kept so that its id stays its own, and what it held."""
_met: set[str] = set()
"""Names of modules that were looked at."""
_users: set[str] = set()
"""Those of the user's."""


def forget() -> None:
    """Before another script."""
    for known in (_kept, _met, _users):
        known.clear()


def note() -> None:
    """Keeps what the modules hold that were imported since. PySpark imports what is there already with every other call."""
    if len(sys.modules) == len(_met) and next(reversed(sys.modules)) in _met:
        return
    for name in sys.modules.keys() - _met:
        module = sys.modules.get(name)
        if getattr(getattr(module, "__spec__", None), "_initializing", False):
            continue
        _met.add(name)
        if name != origins.MAIN and installed.is_users(str(getattr(module, "__file__", None) or "")):
            _users.add(name)
            _keep(module)


def scope(names: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a module's names, or of a class's, what they stood for; of such as were added since, what they do."""
    held = _kept.get(id(names))
    return {**names, **held[1]} if held is not None and held[0] is names else names


def content(thing: Any) -> Any:
    """What a container held, in one of its own class; the thing itself where nothing else is known."""
    held = _kept.get(id(thing))
    return held[1] if held is not None and held[0] is thing else thing


def fields(thing: Any) -> Mapping[str, Any]:
    """What an object or a class had in its `__dict__`."""
    held = _kept.get(id(thing))
    return held[1] if held is not None and held[0] is thing else getattr(thing, "__dict__", {})


def _keep(module: Any) -> None:
    rest: list[Any] = [module]
    while rest and len(_kept) < MOST_THINGS:
        thing = rest.pop()
        if id(thing) not in _kept:
            rest += _held(thing)


def _held(thing: Any) -> Iterable[Any]:
    """Keeps what a thing holds, and answers with that."""
    if type(thing) in CHANGEABLE:
        kept = copy.copy(thing)
        _kept[id(thing)] = (thing, kept)
        return [*kept, *kept.values()] if isinstance(kept, dict) else list(kept)
    if type(thing) in (tuple, frozenset):
        return list(thing)
    if not _is_users(thing):
        return ()
    names = vars(thing)
    kept = dict(names)
    _kept[id(thing)] = (thing, kept)
    if isinstance(thing, types.ModuleType):
        _kept[id(names)] = (names, kept)
    return list(kept.values())


def _is_users(thing: Any) -> bool:
    """Whether it is a module, a class or an object of the user's own."""
    if isinstance(thing, types.ModuleType):
        return thing.__name__ in _users
    kind = thing if isinstance(thing, type) else type(thing)
    return kind.__module__ in _users and hasattr(thing, "__dict__")
