"""The lease in a folder that knows no conditions but one: a name that is taken is not given again by a rename. Pure.

So each content is a file of its own in the folder, the highest number counts, and the next one is written over it: under its number plus
one, complete before it has that name. Of two that write over the same content one gets the number. Lower numbers are removed by who wrote
the highest; one that is so late that its number was removed again finds a higher one, and has written nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

READ_TRIES = 5
NAME = re.compile(r"([0-9]+)|\.([0-9]+)\.[0-9a-f]+")
"""Of a content, and of one that has not got its number yet."""


@dataclass(frozen=True)
class Content:
    """What was there, and what stands for it: an ETag, or its number."""

    text: str
    tag: str


class Folder(Protocol):
    """The files of one folder. What the storage does not answer raises OSError."""

    def names(self) -> list[str]:
        """Empty where the folder is not there."""
        ...

    def read(self, name: str) -> str | None:
        """None where it is not there."""
        ...

    def create(self, name: str, text: str) -> None: ...

    def rename(self, name: str, new: str) -> bool:
        """False where `new` is there already, or `name` is not."""
        ...

    def delete(self, name: str) -> None:
        """Nothing where it is not there."""
        ...


class NumberedLease:
    """The lease in `folder`; `token` makes names that nobody else makes."""

    is_conditional = True

    def __init__(self, folder: Folder, token: Callable[[], str]) -> None:
        self._folder, self._token = folder, token

    def read(self) -> Content | None:
        """None where nothing is; one that a newer one replaced meanwhile is read again."""
        for _ in range(READ_TRIES):
            number = newest(self._folder.names())
            if number == 0:
                return None
            text = self._folder.read(str(number))
            if text is not None:
                return Content(text, str(number))
        raise OSError("the lease changed each time that it was read")

    def write(self, text: str, over: Content | None) -> bool:
        """Whether `text` is there now, in place of `over`, or of nothing; False where something else is there."""
        before = int(over.tag) if over is not None else 0
        if newest(self._folder.names()) != before:
            return False
        number = before + 1
        aside = f".{number}.{self._token()}"
        self._folder.create(aside, text)
        if not self._folder.rename(aside, str(number)):
            self._folder.delete(aside)
            return False
        names = self._folder.names()
        if newest(names) != number:
            self._folder.delete(str(number))
            return False
        for name in names:
            if _is_below(name, number):
                self._folder.delete(name)
        return True

    def renew(self, held: Content) -> Content | None:
        """`held` under a higher number, which takes no space of a full disk; None where something else is there. A renewal that nobody
        heard of is found, too: no two holders write the same text."""
        self._folder.rename(held.tag, str(int(held.tag) + 1))
        there = self.read()
        return there if there is not None and there.text == held.text and int(there.tag) > int(held.tag) else None


def newest(names: Iterable[str]) -> int:
    """The number of the content that counts, of the names in a folder of leases; 0 where there is none."""
    return max((int(name) for name in names if name.isascii() and name.isdecimal()), default=0)


def _is_below(name: str, number: int) -> bool:
    """Whether it is of a content with a lower number, or was to be one and never got its name."""
    match = NAME.fullmatch(name)
    return match is not None and int(match[1] or match[2]) < number
