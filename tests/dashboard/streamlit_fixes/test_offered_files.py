"""How long a file is there that a page offers for download, and has stopped offering."""

from __future__ import annotations

import pytest
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from dashboard.streamlit_fixes.offered_files import KEPT_SECONDS, OfferedFiles

PLACE = "1.(3.-14).5"
WITHIN, AFTER = KEPT_SECONDS - 1.0, KEPT_SECONDS + 1.0


class Offered:
    """The files of one server at a clock that the test sets; some scripts end at each moment."""

    def __init__(self) -> None:
        self.now = 0.0
        self._storage = MemoryMediaFileStorage("/media")
        self.files = OfferedFiles(self._storage, lambda: self.now)

    def add(self, data: bytes) -> str:
        return self.files.add(data, "text/csv", PLACE, file_name="table.csv", is_for_static_download=True)

    def at(self, moment: float) -> None:
        self.now = moment
        for _ in range(3):
            self.files.remove_orphaned_files()

    def there(self, url: str) -> bool:
        try:
            return bool(self._storage.get_file(url.rpartition("/")[2]).content)
        except MediaFileStorageError:
            return False


@pytest.fixture
def offered() -> Offered:
    return Offered()


def test_a_file_outlasts_its_page_for_a_while(offered: Offered) -> None:
    url = offered.add(b"one")
    offered.files.clear_session_refs()
    offered.at(0)
    offered.at(WITHIN)
    assert offered.there(url)
    offered.at(AFTER)
    assert not offered.there(url)


def test_a_file_offered_again_starts_anew(offered: Offered) -> None:
    url = offered.add(b"one")
    offered.files.clear_session_refs()
    offered.at(0)
    offered.add(b"one")
    offered.at(WITHIN)
    offered.files.clear_session_refs()
    offered.at(AFTER)
    assert offered.there(url)
    offered.at(AFTER + AFTER)
    assert not offered.there(url)


def test_an_older_file_of_a_button_goes_while_the_newer_one_stays(offered: Offered) -> None:
    old, new = offered.add(b"one"), offered.add(b"two")
    offered.at(0)
    offered.at(AFTER)
    assert not offered.there(old) and offered.there(new)


def test_what_is_made_at_a_click_can_still_be_made_when_its_button_was_replaced(offered: Offered) -> None:
    replaced = offered.files.add_deferred(lambda: b"log", "text/plain", PLACE, file_name="job.log")
    offered.files.add_deferred(lambda: b"log", "text/plain", PLACE, file_name="job.log")
    offered.at(0)
    offered.at(WITHIN)
    made = offered.files.execute_deferred(replaced)
    offered.at(WITHIN)
    assert offered.there(made)
    offered.at(WITHIN + AFTER)
    assert not offered.there(made)
    with pytest.raises(MediaFileStorageError):
        offered.files.execute_deferred(replaced)
