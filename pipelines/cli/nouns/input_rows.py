"""The input rows of a failed batch on the shell: a line of JSON for each, and of each source what is not there."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pipelines.cli import output
from pipelines.cli.additions import Shown, shows
from pipelines.cli.session import Here
from pipelines.domain.input_rows import InputRows
from pipelines.verbs.input_rows import ReadInputRows
from pipelines.words import input_rows as words


@shows(ReadInputRows)
def _rows(here: Here, change: ReadInputRows, read: InputRows) -> Shown:
    if not here.as_json:
        for source in read.sources:
            output.tell(f"{source.source}: {words.amount(source)}")
    return Shown(read, "\n".join(_lines(read)))


def _lines(read: InputRows) -> Iterator[str]:
    for source in read.sources:
        names = [column.name for column in source.columns]
        for row in source.rows:
            yield json.dumps({"source": source.source, "row": dict(zip(names, row, strict=True))}, ensure_ascii=False)
