"""What code objects and classes are made of: the names they use, what they import, their slots."""

from __future__ import annotations

import abc
import dis
import inspect
import types
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

OF_THE_CLASS = {"__module__", "__doc__", "__dict__", "__weakref__", "__qualname__", "__firstlineno__", "__static_attributes__"}
OF_THE_CLASS |= {"__annotations__", "__abstractmethods__", "_abc_impl", "__parameters__", "__slotnames__", "__orig_bases__"}
OF_THE_CLASS |= {"__dataclass_fields__", "__dataclass_params__"}
OF_THE_MODULE = {"__name__", "__doc__", "__package__", "__loader__", "__spec__", "__path__", "__file__", "__cached__", "__builtins__"}
OF_THE_MODULE |= {"__annotations__", "__annotate__", "__conditional_annotations__", "__warningregistry__"}
"""What Python itself notes of a class, and of a module."""
HAS_DOCSTRING = int(getattr(inspect, "CO_HAS_DOCSTRING", 0))
MAKES_TEXT, FORMATS = {"str", "repr", "ascii", "format", "print"}, ("FORMAT_", "CONVERT_VALUE")
"""Names of functions that make texts of things, and how Python's steps begin that do."""
SEES_LOCALS = {"locals", "vars", "dir", "eval", "exec"}
"""Names of functions that show what the local variables of their caller are called."""


@dataclass(frozen=True)
class Import:
    """`from ..module import name`: two levels up, and what is taken; `import module` takes nothing."""

    module: str
    level: int
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{'.' * self.level}{self.module}" or "a module"


def names(code: types.CodeType) -> Iterator[str]:
    """All names that `code` uses, in what is defined inside of it too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names(constant)


def steps(code: types.CodeType) -> tuple[list[list[Any]], list[object]]:
    """The instructions of `code`, and the constants that they load, in the order in which they do: a docstring is none of them, nor is
    what the compiler has left over."""
    used: dict[int, int] = {}
    told = [
        [
            step.offset,
            step.opcode,
            used.setdefault(step.arg, len(used)) if step.opcode in dis.hasconst and step.arg is not None else step.arg,
        ]
        for step in dis.get_instructions(code)
        if step.opname != "EXTENDED_ARG"
    ]
    return told, [code.co_consts[at] for at in used]


def variables(code: types.CodeType) -> list[list[str]]:
    """The names of the arguments, which callers use, and of variables of other functions. Those of local variables are left out where
    nothing can ask for them."""
    arguments = code.co_argcount + code.co_kwonlyargcount
    return [list(code.co_varnames[:arguments] if hides_locals(code) else code.co_varnames), list(code.co_freevars), list(code.co_cellvars)]


def shows_class(code: types.CodeType) -> bool:
    """Whether `code` may make a text of a thing's class, which has its name."""
    steps = [(step.opname, step.argval) for step in dis.get_instructions(code)]
    asks = ("LOAD_GLOBAL", "type") in steps or ("LOAD_ATTR", "__class__") in steps
    makes = MAKES_TEXT.intersection(code.co_names) or any(name.startswith(FORMATS) for name, _ in steps)
    return bool(asks and makes) or any(shows_class(part) for part in code.co_consts if isinstance(part, types.CodeType))


def hides_locals(code: types.CodeType) -> bool:
    """Whether nothing can ask what its local variables and arguments are called."""
    return bool(code.co_flags & inspect.CO_OPTIMIZED) and not SEES_LOCALS.intersection(code.co_names)


def imports(code: types.CodeType) -> Iterator[Import]:
    """What `code` itself imports when it runs: the level and the names are what it loads before (Python's `dis`, IMPORT_NAME)."""
    steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
    for level, names, step in zip(steps, islice(steps, 1, None), islice(steps, 2, None), strict=False):
        if step.opname == "IMPORT_NAME":
            yield Import(str(step.argval), int(level.argval), tuple(names.argval or ()))


def contents(function: types.FunctionType) -> Iterator[object]:
    """What the cells of a function hold."""
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # it is empty
            yield cell.cell_contents


def slots(kind: type) -> Iterator[str]:
    """Names of the fields that objects of `kind` have beside their `__dict__`."""
    for base in kind.__mro__:
        there = vars(base).get("__slots__", ())
        for slot in (there,) if isinstance(there, str) else there:
            if slot not in ("__dict__", "__weakref__"):
                yield _mangled(slot, base.__name__.lstrip("_"))


def _mangled(name: str, owner: str) -> str:
    """As Python calls a private name of the class `owner` (`_Price__rate`)."""
    is_private = name.startswith("__") and not name.endswith("__") and owner
    return f"_{owner}{name}" if is_private else name


def shows_name(kind: type) -> bool:
    """Whether objects of the class say its name, as those of a dataclass do."""
    return any("__repr__" in vars(base) for base in kind.__mro__ if base is not object)


def registered(kind: type) -> list[type]:
    """The classes that were registered as subclasses of an abstract one (ABCMeta.register), by their names."""
    there = [reference() for reference in abc._get_dump(kind)[0]] if isinstance(kind, abc.ABCMeta) else []  # type: ignore[attr-defined]
    return sorted((other for other in there if other is not None), key=lambda other: (other.__module__, other.__qualname__))


def is_slot(value: object) -> bool:
    return isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType)
