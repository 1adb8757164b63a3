"""How far an operation is, on stderr: a bar on a terminal, now and then a line elsewhere, nothing with `--json`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from pipelines.cli import formats, output
from pipelines.domain.operations import Amount

Show = Callable[[Amount | None], None]
"""Takes how far it is now; None while nobody knows."""
LINE_EVERY_MS = 5_000
RATE_AFTER_MS = 500
"""Before that a rate says nothing yet."""


@dataclass(frozen=True)
class Pace:
    """A step as it was first seen: what was done of it by then, and when (epoch ms)."""

    first: Amount
    since_ms: int

    def is_of(self, now: Amount) -> bool:
        """Whether `now` is of the same step: one that is behind its beginning is the same of another operation."""
        return (now.step, now.total) == (self.first.step, self.first.total) and now.done >= self.first.done

    def left_ms(self, now: Amount, now_ms: int) -> float | None:
        """How long the rest takes at this pace; None where nobody knows."""
        a_second = self.a_second(now, now_ms)
        return max(0, now.total - now.done) / a_second * 1000 if a_second and now.total else None

    def a_second(self, now: Amount, now_ms: int) -> float | None:
        """Units a second since the step was first seen; None while that says nothing yet."""
        took_ms, done = now_ms - self.since_ms, now.done - self.first.done
        return done * 1000 / took_ms if took_ms >= RATE_AFTER_MS and done > 0 else None


class Course:
    """The course of an operation: puts each amount beside what is known of its step."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._pace: Pace | None = None

    def said(self, amount: Amount) -> str:
        """`1.2 GB of 3.4 GB, 120.0 MB/s, 18.3 s left`."""
        now_ms = self._now_ms()
        if self._pace is None or not self._pace.is_of(amount):
            self._pace = Pace(amount, now_ms)
        done = formats.quantity(amount.done, amount.unit)
        parts = [f"{done} of {formats.quantity(amount.total, amount.unit)}" if amount.total else done]
        a_second, left_ms = self._pace.a_second(amount, now_ms), self._pace.left_ms(amount, now_ms)
        if a_second is not None:
            parts.append(f"{formats.quantity(a_second, amount.unit)}/s")
        if left_ms is not None:
            parts.append(f"{formats.duration(left_ms)} left")
        return ", ".join(parts)


@contextmanager
def shown(now_ms: Callable[[], int], *, as_json: bool) -> Iterator[Show]:
    """What to call with each amount that is seen, for as long as the operation goes."""
    if as_json:
        yield lambda amount: None
    elif sys.stderr.isatty():
        with _bar(Course(now_ms)) as show:
            yield show
    else:
        yield _lines(Course(now_ms), now_ms)


def _lines(course: Course, now_ms: Callable[[], int]) -> Show:
    """A line every few seconds: a short operation says nothing but its end."""
    last_ms = now_ms()

    def show(amount: Amount | None) -> None:
        nonlocal last_ms
        if amount is None:
            return
        text = f"{amount.step}: {course.said(amount)}"
        if now_ms() - last_ms >= LINE_EVERY_MS:
            last_ms = now_ms()
            output.tell(text)

    return show


@contextmanager
def _bar(course: Course) -> Iterator[Show]:
    """A bar that is there once something is known, and gone when the operation has ended."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}"))
    progress = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)
    task = progress.add_task("", total=None, said="")
    with ExitStack() as shown:

        def show(amount: Amount | None) -> None:
            if amount is None:
                return
            if not progress.live.is_started:
                shown.enter_context(progress)
            total = amount.total or None
            progress.update(task, description=amount.step, completed=amount.done, total=total, said=course.said(amount))

        yield show
