"""Names of arguments: they count where somebody may give an argument by its name, and nowhere else.

Nobody does of a function that is only called by what was seen, each time with arguments by their places.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator

from pipelines.driver.planning import code as codes

LOADS = {"LOAD_FAST": 1, "LOAD_FAST_BORROW": 1, "LOAD_CONST": 1, "LOAD_SMALL_INT": 1, "LOAD_DEREF": 1}
LOADS |= {"LOAD_FAST_LOAD_FAST": 2, "LOAD_FAST_BORROW_LOAD_FAST_BORROW": 2}
"""Python's steps that do nothing but put a value on the stack -> how many."""
NO_STEPS = {"PRECALL", "CACHE", "EXTENDED_ARG"}


class Arguments:
    """What is learned of them in one reading."""

    def __init__(self) -> None:
        self._functions: list[tuple[types.FunctionType, list[str]]] = []
        self._reached: set[int] = set()
        self._are_given = False

    def note(self, function: types.FunctionType, names: list[str]) -> None:
        """`names` are those in the function's form: all of its arguments first."""
        if codes.hides_locals(function.__code__):
            self._functions.append((function, names))

    def reach(self, function: types.FunctionType) -> None:
        """Somebody has got the function itself, and may call it as he likes."""
        self._reached.add(id(function))

    def is_reached(self, function: object) -> bool:
        """Whether somebody has got it himself; only known once all is read."""
        return id(function) in self._reached

    def give(self) -> None:
        """Spark gives some by their names."""
        self._are_given = True

    def settle(self) -> None:
        """Takes the names that do not count out of the forms."""
        for function, names in self._functions:
            if id(function) not in self._reached and not self._are_given:
                count = function.__code__.co_argcount
                names[:count] = [""] * count


def is_only_called(name: str, code: types.CodeType) -> bool:
    """Whether `code`, with what is defined inside of it, does nothing with the global `name` but to call it with plain values, in order."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in NO_STEPS]
    uses = [at for at, step in enumerate(steps) if step.opcode in dis.hasname and step.argval == name]
    inside = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return all(_is_call(steps[at:]) for at in uses) and all(is_only_called(name, part) for part in inside)


def _is_call(steps: list[dis.Instruction]) -> bool:
    """Whether the first step loads what the next ones call. From Python 3.11 on the lowest bit of its argument says that a call may be
    meant; before that nothing does."""
    loaded = dict(_loaded(steps[1:]))
    call = next((step for at, step in enumerate(steps[1:]) if at in loaded and step.opname == "CALL" and step.arg == loaded[at]), None)
    return steps[0].opname == "LOAD_GLOBAL" and bool((steps[0].arg or 0) & 1) and call is not None


def _loaded(steps: list[dis.Instruction]) -> Iterator[tuple[int, int]]:
    """Step, as long as those before it only load values -> how many they have loaded."""
    count = 0
    for at, step in enumerate(steps):
        yield at, count
        if step.opname not in LOADS:
            return
        count += LOADS[step.opname]
