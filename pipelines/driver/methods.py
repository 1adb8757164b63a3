"""Methods of PySpark's classes, with something of ours before or after them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Then = Callable[..., None]
"""Called with the object and with what the method was called with."""


def before(some_class: Any, method: str, first: Then) -> None:
    """Calls `first` before each call of the method."""
    original = getattr(some_class, method)

    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        first(self, *args, **kwargs)
        return original(self, *args, **kwargs)

    setattr(some_class, method, wrapped)


def after(some_class: Any, method: str, then: Then) -> None:
    """Calls `then` after each call of the method that raised nothing."""
    original = getattr(some_class, method)

    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        answer = original(self, *args, **kwargs)
        then(self, *args, **kwargs)
        return answer

    setattr(some_class, method, wrapped)
