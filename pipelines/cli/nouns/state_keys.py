"""A key of a job's state on the shell: a line of JSON for each of its rows."""

from __future__ import annotations

import json

from pipelines.cli import output
from pipelines.cli.additions import Shown, shows
from pipelines.cli.session import Here
from pipelines.domain.state_keys import KeyRows
from pipelines.verbs.state_key import LookUpKey
from pipelines.words import formats


@shows(LookUpKey)
def _rows(here: Here, change: LookUpKey, found: KeyRows) -> Shown:
    if not here.as_json:
        where = f"partition {found.partition}" if found.partition is not None else "all partitions"
        output.tell(f"{formats.plural(len(found.rows), 'row')} in {where} of {found.job} at batch {found.batch:,}")
    return Shown(found, "\n".join(json.dumps(row, ensure_ascii=False) for row in found.rows))
