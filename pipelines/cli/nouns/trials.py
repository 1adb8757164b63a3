"""Trials on the shell: the rows that the code's batch would write; code that does not run ends with Incompatible."""

from __future__ import annotations

from pipelines.cli import output
from pipelines.cli.additions import Shown, shows
from pipelines.cli.nouns.states import rows_table
from pipelines.cli.session import Here
from pipelines.domain.changed_meanings import ChangedMeaning
from pipelines.domain.errors import Incompatible
from pipelines.domain.trials import Trial, TriedQuery
from pipelines.verbs.try_code import TryCode
from pipelines.words import formats
from pipelines.words import verdicts as words


@shows(TryCode)
def _tried(here: Here, change: TryCode, trial: Trial) -> Shown:
    error = Incompatible("code.does_not_run", trial.note, "Change the code, and try it again.") if trial.failed else None
    if trial.note and not trial.failed:
        output.tell(trial.note)
    return Shown(trial, "\n\n".join([*map(_query, trial.queries), *map(_meaning, trial.meanings)]), error)


def _meaning(meaning: ChangedMeaning) -> str:
    head = f"{words.subject(meaning)}: {meaning.outcome}"
    return "\n".join((head, *(f"  {line}" for line in (*meaning.reasons, meaning.sentence.replace("`", "")))))


def _query(query: TriedQuery) -> str:
    batch = query.batch
    head = f"{query.query}: batch {batch.batch:,}, {formats.plural(batch.input_rows, 'row')} in, {batch.output_rows:,} would be written"
    rows = rows_table(query.rows)
    return f"{head}\n{rows.plain().lstrip()}" if rows and query.rows.rows else head
