"""Changed meanings: where a trial's code goes on with state that means something else there, or was rewritten for it, one key of it after
the same batch of both codes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pipelines.domain import masters
from pipelines.domain.changed_meanings import LONGEST_S, MOST_KEYS, ChangedMeaning, KeyExample, Rows, flat, in_words
from pipelines.domain.errors import Corrupt, Unavailable, Unsupported
from pipelines.domain.ids import folder_of
from pipelines.domain.migrated_columns import once
from pipelines.domain.savepoints import Manifest
from pipelines.domain.states import StateTable
from pipelines.domain.verdicts import Outcome, Part, Verdict
from pipelines.domain.versions import Version
from pipelines.sandbox import states as sandbox
from pipelines.sandbox.counts import TASK_FORMAT, Store
from pipelines.sandbox.key_examples import NEW, OLD, SAVED, Examples, ExampleTask, FoundExample, Points
from pipelines.savepoint import restore
from pipelines.storage.layout import OUTPUT, WAREHOUSE
from pipelines.verbs.state import ListStates
from pipelines.words import changed_meanings as words
from pipelines.words import formats
from pipelines.workspace import checks, environments, rehearsals, rehearsed_reads, run_confs, runtimes, snapshot_versions, states
from pipelines.workspace import verdicts as known_verdicts
from pipelines.workspace.aggregations import Asked
from pipelines.workspace.context import Context
from pipelines.workspace.rehearsals import Rehearsed
from pipelines.workspace.tickets import Ticket

CHECKPOINTS = "checkpoints"
MIGRATED = (Outcome.CHANGED_MEANING, Outcome.NEEDS_REWRITING)


@dataclass(frozen=True)
class Tried:
    """A trial that has run its batches in `folder`, for who has the turn, and a lease of the savepoint."""

    manifest: Manifest
    version: Version
    new_queries: tuple[str, ...]
    ran: Rehearsed
    folder: Path
    checkpoints: Path
    """The copy that the changed code ran on."""
    asked: Asked | None = None
    """How the copy's state was migrated before."""

    @property
    def batches(self) -> dict[str, int]:
        """Query -> the batch that it has run."""
        return {str(batch.query): batch.batch for batch in self.ran.batches}


@dataclass(frozen=True)
class OldCode:
    """The rehearsal of the savepoint's own code: its checkpoints, the batches of the same input, and why one is missing."""

    checkpoints: Path
    batches: Mapping[str, int]
    note: str


def shown(context: Context, tried: Tried, ticket: Ticket) -> tuple[ChangedMeaning, ...]:
    """1. The verdict; where it is *changed meaning*, or the state was rewritten: 2. the savepoint's code runs the same batch; 3. Spark
    looks for a key that differs.

    None of unchanged code, of code that has not run, and where operators or their variables are dropped or others. Where 2 or 3 fails,
    why stands in place of a key: the trial's rows are there. Raises what a check raises."""
    if tried.ran.problem or tried.version.id == tried.manifest.version.id or (tried.asked and (tried.asked.told or tried.asked.drop)):
        return ()
    verdict = _verdict(context, tried, ticket)  # 1
    parts = [part for part in _parts(tried, verdict) if part.query in tried.batches]
    if not parts:
        return ()
    tables = _tables(context, tried, parts)
    try:
        old = _old_code(context, tried, ticket) if tables else OldCode(tried.folder, {}, "")  # 2
        examples = _examples(context, tried, tables, old, ticket) if tables else Examples(())  # 3
    except (Corrupt, Unsupported, Unavailable) as error:
        if isinstance(error, Unavailable) and not error.code.startswith("sandbox."):
            raise
        return tuple(_meaning(tried, part, None, error.message) for part in parts)
    return tuple(_told(tried, part, tables, examples, old, _columns(verdict, part)) for part in parts)


def _verdict(context: Context, tried: Tried, ticket: Ticket) -> Verdict:
    """The one that is known, else a new one."""
    manifest, version, new_queries = tried.manifest, tried.version, tried.new_queries
    known = known_verdicts.known(context, manifest, version, new_queries)
    if known is not None:
        return known
    folder = tried.folder / "check"
    folder.mkdir()
    return checks.judged(context, manifest, version, new_queries, {}, folder, ticket)


def _parts(tried: Tried, verdict: Verdict) -> Iterator[Part]:
    """What the verdict says of the operators whose meaning changes. Of those that were rewritten, and of a migration all, only those of
    queries whose operators stand where they stood."""
    outcomes = MIGRATED if tried.asked else (Outcome.CHANGED_MEANING,)
    for part in (part for part in verdict.parts if part.operator is not None and part.outcome in outcomes):
        if tried.asked is None or _is_in_place(tried.manifest, verdict.parts, part.query):
            yield part


def _is_in_place(manifest: Manifest, parts: Sequence[Part], query: str) -> bool:
    """Whether each operator of a query goes on with the state that had its number."""
    held = {(operator.id, operator.name) for image in manifest.queries if image.query == query for operator in image.operators}
    now = {(part.operator, part.name) for part in parts if part.query == query and part.operator is not None}
    return held == now


def _tables(context: Context, tried: Tried, parts: Sequence[Part]) -> tuple[StateTable, ...]:
    """The tables of these operators' state; not those of one that keeps too many keys."""
    operators = {(part.query, part.operator) for part in parts}
    listed = states.listed(context, ListStates(tried.manifest.id))
    return tuple(
        table
        for table in listed
        if (table.query, table.operator) in operators and not table.internal and (table.operator_rows or 0) <= MOST_KEYS
    )


def _old_code(context: Context, tried: Tried, ticket: Ticket) -> OldCode:
    """The savepoint's own code on the batch as the changed code's was planned: the same offsets, and the same files behind them, each where
    this code has it."""
    manifest, folder = tried.manifest, tried.folder / "before"
    folder.mkdir()
    checkpoints = folder / CHECKPOINTS
    ticket.step("linking")
    target = rehearsals.target(context, manifest, folder, str(checkpoints), manifest.version)
    restore.restore(context.shelf(manifest.id), manifest.id, target, context.now_ms(), watch=ticket)
    for query, batch in tried.batches.items():
        _plan_alike(tried.checkpoints / folder_of(query), checkpoints / folder_of(query), batch)
    planned = replace(target, output=str(tried.folder / OUTPUT), warehouse=str(tried.folder / WAREHOUSE), version=tried.version)
    rehearsed_reads.rename(context, manifest, planned, target)
    snapshot_versions.fit(context, manifest, manifest.version, str(checkpoints))
    runtime = environments.entered(context, environments.make(context, manifest.version, ticket)).runtime
    idle = tuple(image.query for image in manifest.begun if image.query not in tried.batches)
    ran = rehearsals.rehearse(context, manifest, runtime, folder, str(checkpoints), ticket, idle=idle)
    batches = {str(batch.query): batch.batch for batch in ran.batches if tried.batches.get(batch.query) == batch.batch}
    return OldCode(checkpoints, batches, ran.problem or ran.note)


def _plan_alike(planned: Path, checkpoint: Path, batch: int) -> None:
    """Plans `batch` of a restored checkpoint as that of `planned` was: its entry of the offset log, which begins with the watermark of the
    savepoint in both, and what its sources have noted since."""
    entry = Path("offsets", str(batch))
    noted = [path.relative_to(planned) for path in sorted(planned.glob("sources/**/*")) if path.is_file()]
    for path in (entry, entry.with_name(f".{entry.name}.crc"), *noted):
        if (planned / path).is_file() and not (checkpoint / path).exists():
            (checkpoint / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(planned / path, checkpoint / path)


def _examples(context: Context, tried: Tried, tables: Sequence[StateTable], old: OldCode, ticket: Ticket) -> Examples:
    version, home = tried.manifest.version, tried.folder / "example"
    home.mkdir()
    points = tuple(_points(tried, table, old) for table in tables)
    conf = run_confs.confs(context, version)
    task = ExampleTask(TASK_FORMAT, f"{tried.manifest.job} (example)", masters.beside(version.master), conf, points, LONGEST_S)
    return sandbox.examples(context.sparks, home, task, runtimes.reader(version), states.follow(ticket))


def _points(tried: Tried, table: StateTable, old: OldCode) -> Points:
    """The savepoint's batch is still in the checkpoint of the changed code, which has run one more; of a migration in that of the code
    before."""
    image = next(image for image in tried.manifest.queries if image.query == table.query)

    def store(checkpoints: Path, batch: int) -> Store:
        at = str(checkpoints / folder_of(table.query))
        return Store(image.query, at, batch, image.provider, image.state_format, table.operator, table.name, table.store)

    batch = tried.batches[table.query]
    saved = store(old.checkpoints if tried.asked else tried.checkpoints, image.batch)
    stores = {SAVED: saved, NEW: store(tried.checkpoints, batch)}
    return Points({**stores, OLD: store(old.checkpoints, batch)} if table.query in old.batches else stores, table.read_as)


def _columns(verdict: Verdict, part: Part) -> tuple[list[str], list[str]]:
    """What an operator's last columns of state are in the words of the code before, and of this one; none where either does not say."""
    for pair in (pair for pair in verdict.operators if pair.query == part.query and pair.before and pair.after):
        before, after = pair.before, pair.after
        if before and after and after.operator == part.operator and before.columns and after.columns:
            return once(before.columns), once(after.columns)
    return [], []


def _rows(found: FoundExample, side: str, columns: Sequence[str]) -> Rows:
    return tuple(flat(in_words(row, columns)) for row in found.rows[side])


def _told(
    tried: Tried,
    part: Part,
    tables: Sequence[StateTable],
    examples: Examples,
    old: OldCode,
    columns: tuple[Sequence[str], Sequence[str]],
) -> ChangedMeaning:
    operator, is_compared = (part.query, part.operator or 0), part.query in old.batches
    found = next((example for example in examples.found if (example.query, example.operator) == operator), None)
    why_no_old = "" if is_compared else f"The code before did not run that batch. {old.note}".strip()
    if not any((table.query, table.operator) == (part.query, part.operator) for table in tables):
        return _meaning(tried, part, None, f"It keeps more than {formats.count(MOST_KEYS)} keys: no example was looked for.")
    if operator in examples.unfinished:
        return _meaning(tried, part, None, words.UNFINISHED)
    if found is None:
        return _meaning(tried, part, None, words.NONE if is_compared else f"{words.NONE_CHANGED} {why_no_old}")
    before, now = columns
    after = now if tried.asked else before  # what was not rewritten is read by its place
    saved = _rows(found, SAVED, before)
    old_rows = _rows(found, OLD, before) if is_compared else None
    others = {was: name for was, name in zip(before, now, strict=False) if was != name and not tried.asked}
    example = KeyExample(flat(found.key), saved, old_rows, _rows(found, NEW, after), others)
    return _meaning(tried, part, example, words.sentence(example, why_no_old))


def _meaning(tried: Tried, part: Part, example: KeyExample | None, sentence: str) -> ChangedMeaning:
    image = next(image for image in tried.manifest.queries if image.query == part.query)
    batch = tried.batches[part.query]
    return ChangedMeaning(image.query, part.operator or 0, part.name, part.reasons, batch, example, sentence, part.outcome)
