"""The folders of one side's own, which each side has elsewhere: what its code names there is called as its version has it."""

from __future__ import annotations

import os
import re

from pipelines.domain import java_paths
from pipelines.domain.placeholders import CODE, OUTPUT
from pipelines.domain.run_specs import RunSpec

WAREHOUSE = "{warehouse}"
"""The folder of tables that name no place."""


class Own:
    """Of a side that is run as `spec` says; of none, where nothing has a place of its own."""

    def __init__(self, spec: RunSpec | None = None) -> None:
        self.code = os.path.dirname(spec.script) if spec is not None else ""
        """Folder of the script."""
        self.warehouse = spec.warehouse if spec is not None else ""
        self._names: dict[re.Pattern[str], str] = {}
        for folder, name in {spec.output: OUTPUT, self.warehouse: WAREHOUSE, self.code: CODE}.items() if spec is not None else ():
            self._know(folder, name)

    def put_tables(self, place: str) -> None:
        """`place` is where Spark's catalog puts tables: in the warehouse of the side that was planned first in this process."""
        folder = os.path.dirname(java_paths.path(place))
        if is_beside(folder, self.warehouse):
            self._know(folder, WAREHOUSE)

    def _know(self, folder: str, name: str) -> None:
        for spelled in (folder, java_paths.quoted(folder)) if folder else ():
            self._names[re.compile(rf"{re.escape(spelled)}(?=/|$)")] = name

    def named(self, text: str) -> str:
        for folder, name in self._names.items():
            text = folder.sub(name, text)
        return text

    def form(self, text: str) -> list[str] | str:
        """A text as JSON has it, where one that names such a folder is no other text."""
        named = self.named(text)
        return text if named == text else ["own", named]

    def is_folder(self, text: str) -> bool:
        """Whether a text names one of these folders, or one within them."""
        return self.named(text) != text and not os.path.isfile(text)


def is_beside(folder: str, warehouse: str) -> bool:
    """Whether a folder lies where the two sides of a planning do, one of which has this warehouse: none of the user's does."""
    return bool(warehouse) and folder.startswith(os.path.dirname(os.path.dirname(warehouse)) + os.sep)
