"""Plans in words: what a take, a restore, an export, a disposal and a promotion will do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipelines.domain.conversions import ConversionPlan, StateStore
from pipelines.domain.decisions import PromotePlan
from pipelines.domain.disposals import Disposal, DisposePlan
from pipelines.domain.lockstep import LockStepPlan
from pipelines.domain.migrations import COLUMNS, MigrationPlan
from pipelines.domain.restores import SHARED, RestorePlan, SinkPlan
from pipelines.domain.rewrites import OperatorRewrite, RewritePlan
from pipelines.domain.savepoints import ExportPlan, TakePlan
from pipelines.domain.verdicts import Verdict
from pipelines.words import formats, offsets, operators, probations, resources, restarts, verdicts
from pipelines.words.formats import Facts

WAYS: Mapping[str, str] = {
    "link": "hard-linked",
    "reflink": "reflinked",
    "server-copy": "copied by the store",
    "cluster-copy": "copied by a Spark job on the cluster",
    "copy": "copied",
    "archive": "packed",
    "shared": "kept already, shared",
    "written": "written anew",
}
"""How a file is cloned -> what is done with it."""
SINKS: Mapping[str, str] = {
    "continue": "continued",
    "fresh": "begins empty",
    "own": "a topic of its own",
    "cut": "cut back",
    "swap": "becomes the variant's",
    SHARED: "yours, maybe its parent's too",
    "none": "yours",
    "refuse": "refused",
}
"""The action of a sink's plan -> what becomes of the output."""
STORES: Mapping[str, str] = {StateStore.ROCKSDB: "RocksDB"}
LEAVES = "It is deleted here once the copy was read back and is intact. Import it from there to have it back."
"""Of an export that disposes of the savepoint."""
AS_IT_IS = "as it is"
"""How the state of a job comes that goes on with its own checkpoint."""

ENVIRONMENT = "made first, of the requirements"
REHEARSED = "a batch is rehearsed on a copy of the state first, and nothing starts where that fails"


def way(how: str) -> str:
    """How files are cloned, in words; several ways are joined by commas."""
    return ", ".join(WAYS.get(part, part) for part in how.split(", "))


def take(plan: TakePlan) -> Facts:
    """Batches, files, new bytes without those of the manifest, which is written last, and where it goes."""
    state, (name, cost) = _cost(plan.files, plan.bytes, plan.new_bytes, plan.how)
    return [
        *(("batch", f"{batch:,} of {query}") for query, batch in plan.batches.items()),
        *(("not begun", query) for query in plan.not_begun),
        state,
        (name, f"{cost}, and the manifest"),
        *_through_server(plan),
        *([("to", plan.to)] if plan.to else []),
        *([("home", plan.home)] if plan.home else []),
        *(("warning", warning) for warning in plan.warnings),
    ]


def restore(plan: RestorePlan) -> Facts:
    """Files, new bytes, the query id, savepoints that are taken first."""
    return [
        *(
            [("state", "in its own checkpoint, as it is")]
            if plan.how == AS_IT_IS
            else _cost(plan.files, plan.bytes, plan.new_bytes, plan.how)
        ),
        *_through_server(plan),
        *([("at its home", f"{plan.checkpoints}, about {plan.requests:,} requests")] if plan.requests else []),
        *([("copying takes", f"about {formats.duration(plan.pace.about_ms)}, by savepoint {plan.pace.savepoint}")] if plan.pace else []),
        ("query id", "kept" if plan.keeps_query_id else "a new one"),
        *([("master", f"{plan.master}, where it was {plan.master_before}")] if plan.master != plan.master_before else []),
        *([("Spark", f"{plan.spark}, where it was {plan.spark_before}: {REHEARSED}")] if plan.spark else []),
        *([("environment", ENVIRONMENT)] if plan.builds else []),
        *([("limits", resources.held(plan.resources, plan.means))] if plan.means else []),
        *(migration(plan.migration) if plan.migration else []),
        *(conversion(plan.conversion) if plan.conversion else []),
        *(rewrite(plan.rewrite) if plan.rewrite else []),
        *(("moved", offsets.moved(source)) for source in plan.moved),
        *(restarts.left_out(plan.passed) if plan.passed else []),
        *([("in lock-step", lock_step(plan.lock_step))] if plan.lock_step else []),
        *_verdict(plan.verdict),
        *([("saved first", f"{_labels(plan.saves)}, so nothing is lost")] if plan.saves else []),
        *(probations.plan(plan.probation) if plan.probation else []),
    ]


def rewrite(plan: RewritePlan) -> Facts:
    """Partitions before and after of each operator, the bytes that are rewritten, and queries that are left as they are."""
    return [
        *(("partitions", _rewritten(operator, plan.partitions)) for operator in plan.operators),
        *([("rewritten", f"{formats.size(plan.bytes)} of state, read and written anew by Spark")] if plan.operators else []),
        *(("batch", f"{batch:,} of {query} is the rewriting itself: its sink gets no rows") for query, batch in plan.batches.items()),
        *(("left", remark) for remark in plan.left),
    ]


def migration(plan: MigrationPlan) -> Facts:
    """The steps of a migration in their order, with what it may rewrite and what that costs."""
    how = "as columns: what is computed as before is kept" if plan.by == COLUMNS else f"by the function {plan.by}"
    return [
        ("migrated", f"{how}, where an operator keeps other columns than before; operators that moved keep their state"),
        ("planned first", "Spark plans the code before and now on nothing, and says what each keeps"),
        *(("dropped", f"the state of {name}") for name in plan.drop),
        *(("goes on", f"{after} with the state of {before}") for before, after in plan.told.items()),
        *(("may change", _operator(operator)) for operator in plan.operators),
        ("rewritten", f"at most {formats.size(plan.bytes)} of state, read and written anew by Spark, and read back"),
        ("rehearsed", "one batch of the changed code on a copy of the result, with every sink replaced; where that fails nothing is left"),
    ]


def conversion(plan: ConversionPlan) -> Facts:
    """Each operator whose state is moved to another store, the bytes that are read, and queries that are left as they are."""
    to = STORES[plan.store]
    return [
        *(("store", f"{to}, from HDFS-backed: {_operator(operator)}") for operator in plan.operators),
        *([("converted", f"{formats.size(plan.bytes)} of state, read and written anew by Spark")] if plan.operators else []),
        *(("left", remark) for remark in plan.left),
    ]


def lock_step(plan: LockStepPlan) -> str:
    """`12 batches of counts that job a has, then its next ones`, or `… and then it ends`."""
    read = ", ".join(f"{formats.plural(last - plan.began[query], 'batch', 'batches')} of {query}" for query, last in plan.ready.items())
    return f"{read} that {plan.lead.job} has run since, {'and then it ends' if plan.lead.until else 'then each next one'}"


def _rewritten(operator: OperatorRewrite, partitions: int) -> str:
    """`4 become 8: operator 0 (aggregation) of counts, 1 store, 12 kB`."""
    return f"{operator.partitions:,} become {partitions:,}: {_operator(operator)}"


def _operator(operator: OperatorRewrite) -> str:
    stores = formats.plural(operator.stores, "store")
    return f"operator {operator.operator} ({operators.kind(operator.name)}) of {operator.query}, {stores}, {formats.size(operator.bytes)}"


def _labels(labels: Sequence[str]) -> str:
    """`savepoints “a” and “b”`."""
    return f"{'savepoint' if len(labels) == 1 else 'savepoints'} {' and '.join(f'“{label}”' for label in labels)}"


def sink(plan: SinkPlan) -> str:
    """`counts (parquet): continued. It goes on where the savepoint ends.`"""
    return f"{plan.query}{f' ({plan.sink})' if plan.sink else ''}: {SINKS.get(plan.action, plan.action)}. {plan.message}"


def refusal(plan: RestorePlan | PromotePlan | None) -> str:
    """Why the plan cannot be carried out; empty where it can."""
    return f"{plan.refusal.message} {plan.refusal.hint}".strip() if plan and plan.refusal else ""


def export(plan: ExportPlan) -> Facts:
    """What is copied, what it becomes, and how."""
    less = " read; the file is usually smaller" if plan.archive else ""
    return [
        ("copies", formats.files(plan.files, plan.bytes) + less),
        ("becomes", "one compressed file" if plan.archive else "a directory"),
        ("how", way(plan.how)),
        *(("stays", f"{path}: known by its SHA-256 alone, a fork elsewhere needs it there") for path in plan.left),
    ]


def dispose(plan: DisposePlan) -> Facts:
    """What is deleted, what that frees, and who needs it."""
    return [
        ("deletes", formats.files(plan.files, plan.bytes)),
        ("frees on disk", formats.size(plan.frees_bytes)),
        *(("needed by", blocker) for blocker in plan.blockers),
    ]


def disposal(disposal: Disposal) -> Facts:
    """What goes, what that deletes and frees, and what stays because something else holds it, too."""
    return [
        ("goes", _going(disposal)),
        ("deletes", formats.files(disposal.files, disposal.bytes)),
        ("frees on disk", formats.size(disposal.frees_bytes)),
        ("shared", formats.size(disposal.bytes - disposal.frees_bytes)),
    ]


def disposed(disposal: Disposal) -> str:
    """`2 of 3 savepoints, which frees 4.1 kB`: those that go, or went."""
    return f"{_going(disposal)}, which frees {formats.size(disposal.frees_bytes)}"


def code(added: int, removed: int) -> str:
    """How much of the code a change replaces: `12 lines added, 3 removed`, `unchanged`."""
    return f"{formats.plural(added, 'line')} added, {removed:,} removed" if added or removed else "unchanged"


def promote(plan: PromotePlan) -> Facts:
    """The job that goes on, its versions and how their code differs."""
    return [
        ("job", plan.parent),
        ("version", f"{plan.replaces} becomes {plan.version}"),
        ("code", code(plan.added, plan.removed)),
        *_verdict(plan.verdict),
    ]


def _verdict(verdict: Verdict | None) -> Facts:
    return [("verdict", f"{verdict.outcome}: {verdicts.SENTENCES[verdict.outcome]}")] if verdict is not None else []


def _going(disposal: Disposal) -> str:
    of = f"{len(disposal.plans):,} of " if disposal.refused else ""
    return of + formats.plural(len(disposal.outcomes), "savepoint")


def _through_server(plan: TakePlan | RestorePlan) -> Facts:
    """Where the bytes are copied elsewhere."""
    elsewhere = not {"server-copy", "cluster-copy"}.isdisjoint(plan.how.split(", "))
    return [("through the server", formats.size(plan.server_bytes))] if elsewhere else []


def _cost(files: int, size: int, new_bytes: int, how: str) -> Facts:
    return [("state", formats.files(files, size)), ("new bytes", f"{formats.size(new_bytes)} ({way(how)})")]
