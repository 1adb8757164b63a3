"""A key of a job's state on the shell: a line of JSON for each of its rows."""

from __future__ import annotations

import json
from dataclasses import asdict

from pipelines.cli import output
from pipelines.cli.additions import Shown, shows
from pipelines.cli.session import Here
from pipelines.domain.state_keys import KeyRows
from pipelines.verbs.state_key import LookUpKey
from pipelines.words import formats
from pipelines.words import state_keys as words


@shows(LookUpKey)
def _rows(here: Here, change: LookUpKey, found: KeyRows) -> Shown:
    if not here.as_json:
        where = f"partition {found.partition}" if found.partition is not None else "all partitions"
        output.tell(f"{formats.plural(len(found.rows), 'row')} in {where} of {found.job} at batch {found.batch:,}")
    lines: list[object] = list(found.rows)
    if found.history is not None:
        output.tell(words.history(found.history))
        lines += [asdict(change) for change in found.history.changes]
    return Shown(found, "\n".join(json.dumps(line, ensure_ascii=False) for line in lines))
