"""Answers to questions as JSON, written in the thread that has found them: FastAPI would write them in the loop that serves everybody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args, get_origin

if TYPE_CHECKING:
    from pydantic import TypeAdapter


class Writer:
    """Writes values of one type as FastAPI does; a sequence value by value, so that other threads go on in between."""

    def __init__(self, kind: Any) -> None:
        self._is_many = get_origin(kind) is Sequence
        self._kind = get_args(kind)[0] if self._is_many else kind

    @cached_property
    def _dump(self) -> Callable[..., bytes]:
        from pydantic import TypeAdapter

        adapter: TypeAdapter[Any] = TypeAdapter(self._kind)
        return adapter.dump_json

    def write(self, answer: Any) -> bytes:
        if not self._is_many:
            return self._dump(answer)
        return b"[" + b",".join(self._dump(value) for value in answer) + b"]"
