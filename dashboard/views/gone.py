"""A page whose address names something that is not there: it says so under its title, and leads to the list of what is."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType

from dashboard import navigation
from dashboard.widgets import error_box, page_header
from pipelines.domain.errors import NotFound


@dataclass(frozen=True)
class gone_shown(AbstractContextManager[None, bool]):
    """Shows a NotFound of the block in place of the page `title`, with the link `label` to the page `lists`."""

    title: str
    lists: str
    label: str

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if not isinstance(error, NotFound):
            return False
        with page_header(self.title):
            navigation.link(self.lists, self.label, icon=":material/arrow_back:")
        error_box(error)
        return True
