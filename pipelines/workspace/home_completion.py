"""Completes at homes what a crash broke off, and lists what the catalog lacks of what lies there: beside the opening, which a home that is
away must not hold up."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from pipelines.domain.errors import TidemarkError
from pipelines.domain.homes import Home
from pipelines.domain.ids import SavepointId
from pipelines.savepoint import library
from pipelines.savepoint.library import Outcome
from pipelines.workspace import events, homes, savepoints, tag_removals
from pipelines.workspace.context import Context

OPENING_WAITS_S = 2.0
"""A home that answers has answered by then, and one command after a crash finds all in order."""


class Completion:
    """What the opening found unsettled or unlisted, each looked at once; what is begun later is its own doer's."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._turn = threading.Lock()
        """Held while something is written down here; nothing is after the end."""
        self._ended = False
        self._asked = homes.Asked()

    def start(self) -> None:
        """Nothing where there is nothing to do, which takes one look at the notes."""
        todo = self._todo()
        if todo:
            thread = threading.Thread(target=self._work, args=(todo,), name="homes", daemon=True)
            thread.start()
            thread.join(OPENING_WAITS_S)

    def end(self) -> None:
        """What is under way is left to the next opening."""
        with self._turn:
            self._ended = True

    def _todo(self) -> Mapping[SavepointId, Home]:
        noted = homes.noted(self._context, [])
        if not noted:
            return {}
        listed = {savepoint.id for savepoint in savepoints.newest_first(self._context, "")}
        writable = not self._context.is_unwritable
        return {savepoint: home for savepoint, home in noted.items() if (savepoint not in listed if home.settled else writable)}

    def _work(self, todo: Mapping[SavepointId, Home]) -> None:
        for savepoint, home in todo.items():
            if self._ended:
                return
            if not self._asked.is_away(home.url):
                self._complete(savepoint, home)

    def _complete(self, savepoint: SavepointId, home: Home) -> None:
        """One savepoint; what keeps it from being completed is an event, and the next opening tries again."""
        try:
            with self._asked.asking(home.url):
                if home.settled or self._is_whole(savepoint, home):
                    self._list(savepoint)
        except TidemarkError as error:
            self._say(error.code, savepoint, f"savepoint {savepoint} at {home.url}: {error.message}; the next start tries again")

    def _is_whole(self, savepoint: SavepointId, home: Home) -> bool:
        """Cleans one whose taking or disposal was broken off; whether a published savepoint is there afterwards."""
        outcome = library.cleaned(self._context.shelf(savepoint), savepoint, self._context.now_ms())
        if outcome is Outcome.BUSY:
            return False
        is_there = outcome in (Outcome.KEPT, Outcome.LOST)
        with self._turn:
            if not self._ended:
                (homes.settle if is_there else self._forget)(self._context, savepoint)
        if outcome is Outcome.DISPOSED:
            self._say("savepoint.disposed", savepoint, f"the disposal of savepoint {savepoint} at {home.url} was completed")
        elif outcome is Outcome.UNFINISHED:
            self._say("savepoint.cleaned", savepoint, f"savepoint {savepoint} was never finished; what was there at {home.url} is removed")
        return is_there

    @staticmethod
    def _forget(context: Context, savepoint: SavepointId) -> None:
        """The note goes last: with it goes what the next opening finds it by."""
        savepoints.unlist(context, savepoint)
        homes.forget(context, savepoint)
        removal = tag_removals.find(context, savepoint)
        if removal is not None:
            tag_removals.finish(context, removal)

    def _list(self, savepoint: SavepointId) -> None:
        entry = library.load(self._context.shelf(savepoint), savepoint)
        with self._turn:
            if self._ended:
                return
            savepoints.record(self._context, entry)
            if self._context.files.home(savepoint) is None:  # disposed of meanwhile
                savepoints.unlist(self._context, savepoint)

    def _say(self, code: str, savepoint: SavepointId, message: str) -> None:
        with self._turn:
            if not self._ended and not events.was_said_today(self._context, code, savepoint):
                events.say(self._context, code, None, savepoint, message)
