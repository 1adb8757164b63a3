"""Plans the queries of one side as its script starts them: what each would keep, what it computes, whether Spark takes the state."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pipelines.domain import doubts
from pipelines.domain.ids import QueryName, folder_of
from pipelines.domain.operators import JOIN
from pipelines.domain.plannings import CONTRACT, Failure, PlannedOperator, PlannedQuery, QueryCheckpoint
from pipelines.domain.references import referring
from pipelines.domain.run_specs import RunSpec
from pipelines.domain.texts import first_line
from pipelines.driver import failures, queries, query_names, secret_values, varying
from pipelines.driver.intercept import Asked, Launch
from pipelines.driver.planning import aggregates, deduplications, facts, hadoop_conf, joins, kept, origins, sources, trees, trial
from pipelines.driver.planning.doors import Doors
from pipelines.driver.planning.forms import BY_POSITION, Form, items
from pipelines.driver.planning.functions import digest
from pipelines.driver.planning.own import Own
from pipelines.driver.planning.sources import Source
from pipelines.driver.query_names import GivenNames

SQL = "spark.sql."
TABLES_IN = "spark.sql.warehouse.dir"
IN_PYTHON = re.compile(r"Python|Pandas|Arrow|PySpark")
"""In the names of nodes of a plan that call Python's functions."""
HADOOPS = "hadoopConfiguration."
"""Begins what a conf of Hadoop's own is called here."""
FIRST_OF_COLUMNS = 200
"""From here on kinds of Python functions (PythonEvalType) get columns of pandas or Arrow."""
OF_ROWS = {213, 214}
"""But for these: transformWithState, whose rows are Spark's."""
AGGREGATIONS = ("stateStoreSave", "sessionWindowStateStoreSaveExec")
COLUMN_PACKAGES = ("pandas", "pyarrow")


T = TypeVar("T", PlannedQuery, PlannedOperator)


class Unknown(BaseException):
    """This Spark's internals are not those that are known."""


class Planner:
    """Stands in for the start of the queries of one side. `points` are the savepoint's queries by name."""

    def __init__(
        self, spec: RunSpec, folder: Path, points: dict[str, QueryCheckpoint], checks: bool, now_ms: int, takes_apart: bool = False
    ) -> None:
        self._spec = spec
        self._own = Own(spec)
        self._folder = folder
        self._points = points
        self._checks = checks
        self._now_ms = now_ms
        self._names = GivenNames(spec.locations, frozenset(map(folder_of, spec.expected)))
        self._is_tried = False
        self.planned: list[PlannedQuery] = []
        self.takes_apart = takes_apart
        """Whether aggregations are taken apart: once Spark does not take the state as it is, for all that is planned from then on."""

    @property
    def is_complete(self) -> bool:
        """Whether every query that has state was planned."""
        return bool(self.planned) and set(self._spec.expected) <= {query.query for query in self.planned}

    def start(self, writer: Any, request: Asked, launch: Launch) -> QueryName:
        """Plans the query that would start, and answers with its name."""
        from py4j.protocol import Py4JError

        try:
            return self._started(writer._spark, writer._df, request)
        except (Py4JError, AttributeError, TypeError, ValueError, KeyError, RecursionError) as error:
            raise Unknown(f"Spark's plan could not be taken apart: {first_line(error)}") from error

    def _started(self, spark: Any, frame: Any, request: Asked) -> QueryName:
        self._try(spark)
        location = query_names.location_of(request, queries.default_fs(spark), self._spec.output)
        name = self._names.of(request.name, location)
        self._names.note(name, location)
        if name in {query.query for query in self.planned}:
            return name  # it starts again, as it did
        self.planned.append(self.plan(spark, frame, name, (request.output_mode or "append").capitalize()))
        return name

    def _try(self, spark: Any) -> None:
        if self._is_tried:
            return
        reason = trial.failure(spark, self._folder / "trial", fingerprint)
        if reason:
            raise Unknown(reason)
        self._is_tried = True

    def plan(self, spark: Any, frame: Any, name: QueryName, mode: str) -> PlannedQuery:
        """1. On nothing: what it would keep, and what it computes. 2. On the copy of its checkpoint."""
        self._own.put_tables(str(spark._jsparkSession.sharedState().conf().get(TABLES_IN)))
        opened, read, point = Doors(spark), sources.read(frame, self._own), self._points.get(name)
        pinned = Path(point.checkpoint) if point else None
        folder = self._folder / CONTRACT / folder_of(name)
        analyzed = frame._jdf.queryExecution().analyzed()
        timed = trees.of(spark._jvm).timed(analyzed, self._now_ms)
        _, confs = trees.of(spark._jvm).read(spark._jsparkSession.conf().getAll())
        set_here = {key: value for key, value in confs if key.startswith(SQL) or (doubts.is_read(key) and key not in self._spec.conf)}
        set_here |= {f"{HADOOPS}{key}": value for key, value in hadoop_conf.changed().items()}
        conf = {key: secret_values.told_apart(value) for key, value in set_here.items()}
        conf.update({key: value for key, value in referring(self._spec.conf).items() if key in conf})
        query = PlannedQuery(
            name, (), tuple(source.planned for source in read), frame.schema.simpleString(), varying.of_plan(analyzed), conf
        )
        plan, failure = _asked(lambda: opened.beginning(timed, mode, folder, pinned, point.batch if point else 0, self._now_ms))  # 1
        if failure is not None:
            return _with(query, failure=failure)
        operators, varies = _operators(opened, plan, analyzed, read, self._own)
        if IN_PYTHON.search(str(plan.toString())):
            whole = Form(opened.jvm, _known(read), False, self._own)
            whole.of(plan)
            varies = (*varies, *whole.reading.varies)
        query = _with(query, operators=operators, varies=tuple(dict.fromkeys((*query.varies, *varies))))
        if point is None or not self._checks:
            return self._taken_apart(query, spark, opened, plan, timed, read)
        copy = Path(point.checkpoint)
        _, refusal = _asked(lambda: opened.next(timed, mode, copy, point.batch, self._now_ms))  # 2
        self.takes_apart |= refusal is not None
        return self._taken_apart(_with(query, refusal=refusal), spark, opened, plan, timed, read)

    def _taken_apart(
        self, query: PlannedQuery, spark: Any, opened: Doors, plan: Any, analyzed: Any, read: tuple[Source, ...]
    ) -> PlannedQuery:
        """With what its aggregations, joins and deduplications keep, where the state has to be rewritten for them."""
        nodes, logical = opened.stateful(plan), facts.stateful(analyzed)
        if not self.takes_apart or len(nodes) != len(logical):
            return query
        known = _known(read)

        def taken(operator: PlannedOperator, node: Any, within: Any) -> PlannedOperator:
            if operator.name in AGGREGATIONS:
                return _with(operator, aggregates=aggregates.of(opened, spark, within, node, known, self._own))
            if operator.name == JOIN:
                return _with(operator, join=joins.of(opened, spark, node, known, self._own))
            return _with(operator, keys=deduplications.of(opened, spark, within, known, self._own))

        return _with(query, operators=tuple(map(taken, query.operators, nodes, logical)))


def _known(read: tuple[Source, ...]) -> dict[tuple[int, ...], Any]:
    """Ids of the columns of each source -> its form."""
    return {source.columns: source.form for source in read}


def _with(planned: T, **changes: Any) -> T:
    from dataclasses import replace

    return replace(planned, **changes)


def _asked(call: Callable[[], Any]) -> tuple[Any, Failure | None]:
    """What Spark answers, or why it refuses."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        return call(), None
    except (Py4JJavaError, PySparkException) as error:
        refused = failures.of_exception(error, "")
        return None, Failure(refused.error_class, refused.message)


def _operators(
    opened: Doors, plan: Any, analyzed: Any, read: tuple[Source, ...], own: Own
) -> tuple[tuple[PlannedOperator, ...], tuple[str, ...]]:
    """The stateful operators, and what varies in their functions."""
    nodes = opened.stateful(plan)
    known = _known(read)
    gaps = tuple(source.gap for source in read if source.gap)
    operators, varies = [], dict[str, None]()
    count, columns = len(nodes), kept.of_operators(nodes, analyzed)
    told = zip(nodes, facts.of_operators(analyzed, count), facts.names_of(analyzed, count), columns, strict=True)
    for node, operator_facts, alias, words in told:
        kinds = _kinds(node)
        form = Form(opened.jvm, known, not BY_POSITION.issuperset(kinds), own)
        reading = form.reading
        digested = digest(reading.settled([form.of(part) for part in (node, *opened.watermarks_beside(node, plan))]))
        operators.append(
            PlannedOperator(
                int(node.getStateInfo().operatorId()),
                str(node.shortName()),
                digested,
                operator_facts,
                {name: secret_values.shown(text) for name, text in reading.parts.items()},
                (*reading.gaps, *gaps),
                {**reading.packages, **_of_the_columns(kinds)},
                form.has_functions,
                columns=words,
                alias=alias,
                reads=form.reads,
            )
        )
        varies |= reading.varies
    return tuple(operators), tuple(varies)


def fingerprint(frame: Any, node: Any) -> str:
    """Of all that is computed below the operator `node` of the frame's plan."""
    from pyspark import SparkContext

    known = {source.columns: source.form for source in sources.read(frame)}
    return digest(Form(SparkContext._jvm, known, False).of(node))


def _of_the_columns(kinds: set[int]) -> dict[str, str]:
    """The packages whose objects functions of these kinds get and give."""
    names = [name for name in COLUMN_PACKAGES if any(kind >= FIRST_OF_COLUMNS and kind not in OF_ROWS for kind in kinds)]
    return {package: version for name in names for package, version in origins.packages_of(name).items()}


def _kinds(node: Any) -> set[int]:
    """Kinds of the Python functions (PythonEvalType) in a plan."""
    from pyspark import SparkContext

    return set(_kinds_of(node, SparkContext._jvm.org.apache.spark.sql.catalyst.trees.TreePattern.PYTHON_UDF()))


def _kinds_of(node: Any, pattern: Any) -> list[int]:
    if not node.containsPattern(pattern):
        return []
    kinds = [int(udf.evalType()) for expression in items(node.expressions()) for udf in _udfs(expression, pattern)]
    return kinds + [kind for child in items(node.children()) for kind in _kinds_of(child, pattern)]


def _udfs(expression: Any, pattern: Any) -> list[Any]:
    if not expression.containsPattern(pattern):
        return []
    own = [expression] if hasattr(expression, "evalType") and expression.getClass().getSimpleName().startswith("Python") else []
    return own + [udf for child in items(expression.children()) for udf in _udfs(child, pattern)]
