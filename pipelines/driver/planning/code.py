"""What code objects and classes are made of: the names they use, what they import, their slots."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator


def names(code: types.CodeType) -> Iterator[str]:
    """All names that `code` uses, in what is defined inside of it too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names(constant)


def imports(code: types.CodeType) -> Iterator[str]:
    """Modules that `code` itself imports when it runs."""
    return (str(step.argval) for step in dis.get_instructions(code) if step.opname == "IMPORT_NAME")


def slots(kind: type) -> Iterator[str]:
    """Names of the fields that objects of `kind` have beside their `__dict__`."""
    for base in kind.__mro__:
        there = vars(base).get("__slots__", ())
        for slot in (there,) if isinstance(there, str) else there:
            if slot not in ("__dict__", "__weakref__"):
                yield slot


def is_slot(value: object) -> bool:
    return isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType)
