"""What a page offered for download stays there for a while after the page has stopped offering it.

Streamlit 1.67 forgets a file as soon as two scripts of any browser have ended without it: on a busy server that is before a slow
browser has asked for it, and a click on a button that a refresh is just replacing gets "404". The same of a file that is made at the click:
no page ever shows that one.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from streamlit.runtime import runtime
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorage

KEPT_SECONDS = 30
"""As long as a browser may take from what it was told to what it asks for."""


class OfferedFiles(MediaFileManager):
    """Streamlit's file manager, which keeps a file for `KEPT_SECONDS` after the last page stopped offering it."""

    def __init__(self, storage: MediaFileStorage, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(storage)
        self._clock = clock
        self._files_unused: dict[str, float] = {}
        self._callables_unused: dict[str, float] = {}
        """Since when, by id; of what is made at the click."""

    def _get_inactive_file_ids(self) -> set[str]:
        return self._long_unused(self._files_unused, super()._get_inactive_file_ids())

    def _remove_orphaned_deferred_callables(self) -> None:
        offered = {file for places in self._files_by_session_and_coord.values() for file in places.values()}
        for unused in self._long_unused(self._callables_unused, set(self._deferred_callables) - offered):
            self._drop_deferred_id(unused)

    def _long_unused(self, since: dict[str, float], unused: set[str]) -> set[str]:
        now = self._clock()
        for used in since.keys() - unused:
            del since[used]
        return {file_id for file_id in unused if now - since.setdefault(file_id, now) >= KEPT_SECONDS}


def mend() -> None:
    """Has the server of this process keep to it; for before the server is made."""
    vars(runtime)["MediaFileManager"] = OfferedFiles
