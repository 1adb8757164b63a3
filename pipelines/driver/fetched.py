"""Rows that a script fetches from Spark to make its queries of (`collect`, `count`), and which are constants in their plans: what they were
read from is noted, as of files that the script opens itself. So is what it asks of tables, and of Hadoop's file systems."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from pipelines.driver import hearing, opened
from pipelines.driver.connect import importing

ACTIONS = (
    *("collect", "toPandas", "toArrow", "toLocalIterator", "count", "isEmpty", "tail", "inputFiles"),
    *("approxQuantile", "corr", "cov", "crosstab", "freqItems", "describe", "summary"),
)
"""Methods of a frame that answer with rows, or with what they are like, or read them at once; all others that do call these."""
OF_RDDS = ("collect", "collectWithJobGroup", "toLocalIterator", "countApprox", "sumApprox", "meanApprox", "countApproxDistinct")
"""The same of an RDD, beside what Spark is given one for (`SparkContext.runJob`, as `take` does)."""
OF_TABLES = re.compile(r"(get|list)(Table|Function|Column|Database|Partition|View|CreateTable)\w*|(table|function|database)Exists")
"""Methods of Spark's catalog that tell what others may have changed there."""
MEMBERS = "py4j.java_gateway"
IMPLEMENTATION, IN_MEMORY = "spark.sql.catalogImplementation", "in-memory"
NAMED_CATALOG = re.compile(r"spark\.sql\.catalog\.\w+ -> ")
"""A catalog and its class, as Scala writes a pair."""
OF_DELTA = "DeltaCatalog"
"""The class of the one that keeps its tables in Spark's own."""
CLASSIC, OF_SPARK_3 = "pyspark.sql.classic.dataframe", "pyspark.sql.dataframe"
RDDS, RDDS_OF_SPARK_3 = "pyspark.core.rdd", "pyspark.rdd"
CONTEXT, CONTEXT_OF_SPARK_3 = "pyspark.core.context", "pyspark.context"
CATALOG, GROUPS, ESTIMATORS = "pyspark.sql.catalog", "pyspark.sql.group", "pyspark.ml.base"
IN_THE_CODE = {"LocalRelation", "OneRowRelation", "Range", "EmptyRelation"}
"""Leaves of plans whose rows the code itself says."""
KINDS = {"LogicalRDD": "an RDD", "ResolvedNamespace": "a list of tables", "JDBCRelation": "a database", "DataSourceV2Relation": "a table"}
"""Other leaves, as people call them."""
OF_LISTS = {"ParallelCollectionRDD", "EmptyRDD"}
OF_TEXT = "HadoopRDD"
MOST_FILES = 100
"""Of more each would be read when a query starts."""
MOST_TIMES = 1_000
"""A script that looks at its output again and again is heard no longer."""
HERE = ("", "file")
"""Schemes."""
INFERRED = "_tidemark_inferred"
"""Marks a frame that was noted."""
_times: list[None] = []


def install() -> None:
    """From now on it is noted, of one script."""
    import pyspark

    _times.clear()
    old = pyspark.__version__.startswith("3.")
    classes: dict[str, Callable[[Any], None]] = {
        OF_SPARK_3 if old else CLASSIC: lambda of: hearing.listen(of.DataFrame, ACTIONS, note, note_inferred),
        RDDS_OF_SPARK_3 if old else RDDS: lambda of: hearing.hear(of.RDD, OF_RDDS, note_rows),
        CONTEXT_OF_SPARK_3 if old else CONTEXT: lambda of: hearing.hear(of.SparkContext, ("runJob",), note_rows, "rdd"),
        CATALOG: lambda of: hearing.hear(of.Catalog, filter(OF_TABLES.fullmatch, dir(of.Catalog)), note_tables),
        GROUPS: lambda of: hearing.hear(of.GroupedData, ("pivot",), lambda grouped: note(grouped._df)),
        ESTIMATORS: lambda of: hearing.hear(of.Estimator, ("fit",), note, "dataset"),
        MEMBERS: lambda of: hearing.listen_to_members(of.JavaMember, note_member),
    }
    for module, listen in classes.items():
        importing.once_imported(module, listen)


def note(frame: Any) -> None:
    """Notes what the rows of a frame come from."""
    _note(lambda: _elsewhere(frame))


def note_rows(rdd: Any) -> None:
    """Notes what the rows of an RDD come from."""
    _note(lambda: _of_rdd(rdd._jrdd.rdd()))


def note_tables(catalog: Any) -> None:
    """Notes that the script asks what there is, where others may make some: a catalog in the driver's memory has the job's own tables."""
    session = catalog._sparkSession._jsparkSession
    is_in_memory = session.conf().get(IMPLEMENTATION) == IN_MEMORY
    if not is_in_memory or any(not line.endswith(OF_DELTA) for line in _catalogs(session)):
        opened.noted((), ["Spark's catalog for what is there"])


def _catalogs(session: Any) -> list[str]:
    """Those that a session has beside Spark's own: key and class."""
    return [line for line in str(session.conf().getAll().mkString("\n")).splitlines() if NAMED_CATALOG.match(line)]


def note_member(member: Any) -> None:
    """Notes that the script asks something in the JVM."""
    opened.noted((), [f"Spark's JVM ({member.name})"])


def _note(elsewhere: Callable[[], Iterable[str]]) -> None:
    from py4j.protocol import Py4JError

    _times.append(None)
    if len(_times) >= MOST_TIMES:
        if len(_times) == MOST_TIMES:
            opened.noted((), ["Spark for rows again and again, more often than is followed"])
        return
    try:
        asked = list(elsewhere())
    except Py4JError:  # of a plan that is another than those that are known
        asked = ["Spark for rows"]
    opened.noted((), asked)


def note_inferred(frame: Any) -> None:
    """Notes the files that a frame is read from, few as a sample has, and tables of others whose columns these may change; once, and not of
    a stream."""
    if INFERRED in vars(frame) or frame.isStreaming:
        return
    vars(frame)[INFERRED] = True
    opened.noted(_of_this_machine(_files(frame)), ())


def _elsewhere(frame: Any) -> Iterator[str]:
    """Notes files of this machine, and names all else."""
    names = dict.fromkeys(map(_named, _leaves_of(frame)))
    yield from (f"Spark for rows of {KINDS.get(name, f'a {name}')}" for name in names if name and name not in IN_THE_CODE)
    if "" not in names:
        return
    places = _files(frame)
    if not places:
        yield "Spark for rows of more files than are compared, or of none"
    opened.noted(_of_this_machine(places), ())
    yield from dict.fromkeys(
        f"Spark for rows of files at {place.scheme}://{place.hostname or ''}" for place in places if place.scheme not in HERE
    )


def _files(frame: Any) -> list[SplitResult]:
    """Where they are; none where they are too many, each of which it would take a call to ask for."""
    indexes = [leaf.relation().inputFiles() for leaf in _leaves_of(frame) if _named(leaf) == ""]
    return [urlsplit(file) for files in indexes for file in files] if sum(map(len, indexes)) <= MOST_FILES else []


def _leaves_of(frame: Any) -> list[Any]:
    """Of its plan before Spark puts what is cached in their place."""
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves().toSeq()
    return [leaves.apply(at) for at in range(leaves.length())]


def _of_this_machine(places: Iterable[SplitResult]) -> list[str]:
    return [unquote(place.path) for place in places if place.scheme in HERE]


def _named(leaf: Any) -> str:
    """The kind of a leaf; empty of files."""
    name = str(leaf.getClass().getSimpleName())
    if name == "LogicalRDD":
        return "Range" if all(_class(rdd) in OF_LISTS for rdd in _leaves(leaf.rdd())) else name
    if name == "LogicalRelation":
        relation = _class(leaf.relation())
        return "" if relation == "HadoopFsRelation" else relation
    return name


def _of_rdd(rdd: Any) -> Iterator[str]:
    """As `_elsewhere`, of an RDD."""
    for leaf in _leaves(rdd):
        name = _class(leaf)
        places = _read(leaf) if name == OF_TEXT else []
        opened.noted(_of_this_machine(places), ())
        if name not in OF_LISTS and (not places or any(place.scheme not in HERE for place in places)):
            yield f"Spark for rows of a {name}"


def _read(rdd: Any) -> list[SplitResult]:
    """The files of `textFile`; none where they are too many."""
    parts = rdd.partitions()
    files = [str(part.inputSplit().value().getPath().toString()) for part in parts] if len(parts) <= MOST_FILES else []
    return [urlsplit(file) for file in dict.fromkeys(files)]


def _leaves(rdd: Any) -> list[Any]:
    """The RDDs that one is made of, and that are made of no other."""
    rest, leaves = [rdd], []
    while rest:
        rdd = rest.pop()
        above = rdd.dependencies()
        if above.isEmpty():
            leaves.append(rdd)
        rest += [above.apply(at).rdd() for at in range(above.length())]
    return leaves


def _class(thing: Any) -> str:
    return str(thing.getClass().getSimpleName())
