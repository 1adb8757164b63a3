"""Progress of an operation on stderr: a bar on a terminal, now and then a line elsewhere, nothing with `--json`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from pipelines.cli import output
from pipelines.domain.operations import Amount
from pipelines.words import pace
from pipelines.words.pace import Sample

Show = Callable[[Amount | None], None]
"""Takes how far it is now; None while nobody knows."""
LINE_EVERY_MS = 5_000


class Course:
    """The course of an operation: keeps the earlier amounts of its step beside each new one."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._samples: tuple[Sample, ...] = ()

    def words(self, amount: Amount) -> str:
        """`1.2 GB of 3.4 GB, 120 MB/s, 18 s left`; empty while nothing is known but the step."""
        self._samples = pace.sampled(self._samples, amount, self._now_ms())
        return ", ".join(filter(None, [pace.how_much(amount), *pace.how_fast(amount, self._samples)]))

    def line(self, amount: Amount) -> str:
        """`copying: 1.2 GB of 3.4 GB`; the step alone while nothing else is known."""
        return ": ".join(filter(None, [amount.step, self.words(amount)]))


@contextmanager
def shown(now_ms: Callable[[], int], *, as_json: bool) -> Iterator[Show]:
    """Yields the function to call with each amount while the operation runs."""
    if as_json:
        yield lambda amount: None
    elif sys.stderr.isatty():
        with _bar(Course(now_ms)) as show:
            yield show
    else:
        yield _lines(Course(now_ms), now_ms)


def _lines(course: Course, now_ms: Callable[[], int]) -> Show:
    """Prints a line every few seconds, where it says something new; a short operation prints none."""
    last_ms, last = now_ms(), ""

    def show(amount: Amount | None) -> None:
        nonlocal last_ms, last
        if amount is None:
            return
        text = course.line(amount)
        if now_ms() - last_ms >= LINE_EVERY_MS and text != last:
            last_ms, last = now_ms(), text
            output.tell(text)

    return show


@contextmanager
def _bar(course: Course) -> Iterator[Show]:
    """Draws a bar once an amount is known, and removes it when the operation has ended."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"))
    progress = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)
    task = progress.add_task("", total=None, words="")
    with ExitStack() as shown:

        def show(amount: Amount | None) -> None:
            if amount is None:
                return
            if not progress.live.is_started:
                shown.enter_context(progress)
            total = amount.total or None
            progress.update(task, description=amount.step, completed=amount.done, total=total, words=course.words(amount))

        yield show
