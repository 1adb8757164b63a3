"""Tasks: what a worker does, and what it may take. The lines between a worker and who asks it."""

from __future__ import annotations

from dataclasses import dataclass

MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Task:
    """Work of one kind, done by the module `module` in a process of its own."""

    module: str
    """Calls `child.serve` when it is run; its one argument is `memory_bytes`."""
    code: str
    """What the codes of its errors begin with: `state` for `state.timeout`."""
    title: str
    """As its errors call it: `The question`."""
    hint: str
    """What to do where it took too long, or too much memory."""
    seconds: float | None
    """A request that takes longer is ended with its process; None where it is only ended by who asked."""
    memory_bytes: int = 1024 * MEGABYTE
    """What the process may take; the system refuses it more."""
    answer_bytes: int = 32 * MEGABYTE
    """A longer line of the process ends it: the answer is held in the memory of who asked."""
    most: int = 2
    """How many of them work at once; others wait for their turn."""


STEP, ADVANCE, ASK, ANSWER, REFUSAL = "step", "advance", "ask", "answer", "refusal"
"""The first of the two parts of a line that a worker writes; each is a JSON list of two."""
