"""Rows that a script fetches from Spark to make its queries of (`collect`, `count`), and which are constants in their plans: what they were
read from is noted, as of files that the script opens itself."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from pipelines.driver import opened
from pipelines.driver.connect import importing

ACTIONS = ("collect", "toPandas", "toArrow", "toLocalIterator", "count", "isEmpty", "tail")
"""Methods of a frame that answer with rows, or with what they are like; all others that do call these."""
CLASSIC, OF_SPARK_3 = "pyspark.sql.classic.dataframe", "pyspark.sql.dataframe"
IN_THE_CODE = {"LocalRelation", "OneRowRelation", "Range", "EmptyRelation"}
"""Leaves of plans whose rows the code itself says."""
KINDS = {"LogicalRDD": "an RDD", "ResolvedNamespace": "a list of tables", "JDBCRelation": "a database", "DataSourceV2Relation": "a table"}
"""Other leaves, as people call them."""
OF_A_LIST = "ParallelCollectionRDD"
SHAPE = "schema"
"""Answers with the columns, which Spark may have inferred of files; all others that tell of columns call it."""
MOST_FILES = 100
"""Of more each would be read when a query starts."""
MOST_TIMES = 1_000
"""A script that looks at its output again and again is heard no longer."""
HERE = ("", "file")
"""Schemes."""
INFERRED = "_tidemark_inferred"
"""Marks a frame that was noted."""
_times: list[None] = []
_installed: set[type] = set()


def install() -> None:
    """From now on it is noted, of one script."""
    import pyspark

    _times.clear()
    module = OF_SPARK_3 if pyspark.__version__.startswith("3.") else CLASSIC
    importing.once_imported(module, lambda frames: listen(frames.DataFrame, note, note_inferred))


def listen(frames: type, note: Callable[[Any], None], note_inferred: Callable[[Any], None]) -> None:
    """Has `note` told each frame of the class `frames` that the script fetches rows of, and `note_inferred` those whose columns it asks
    for."""
    if frames in _installed:
        return
    _installed.add(frames)
    for name in ACTIONS:
        if hasattr(frames, name):
            setattr(frames, name, _heard(getattr(frames, name), note))
    told = vars(frames)[SHAPE]
    if isinstance(told, functools.cached_property):
        heard = functools.cached_property(_heard(told.func, note_inferred))
        heard.__set_name__(frames, SHAPE)
        setattr(frames, SHAPE, heard)
    else:
        setattr(frames, SHAPE, property(_heard(told.fget, note_inferred)))


def _heard(action: Callable[..., Any], note: Callable[[Any], None]) -> Callable[..., Any]:
    @functools.wraps(action)
    def acted(frame: Any, *args: Any, **kwargs: Any) -> Any:
        answer = action(frame, *args, **kwargs)
        if opened.is_by_script() and not opened.is_called_back():
            note(frame)
        return answer

    return acted


def note(frame: Any) -> None:
    """Notes what the rows of a frame come from."""
    from py4j.protocol import Py4JError

    _times.append(None)
    if len(_times) >= MOST_TIMES:
        if len(_times) == MOST_TIMES:
            opened.noted((), ["Spark for rows again and again, more often than is followed"])
        return
    try:
        elsewhere = list(_elsewhere(frame))
    except Py4JError:  # of a plan that is another than those that are known
        elsewhere = ["Spark for rows"]
    opened.noted((), elsewhere)


def note_inferred(frame: Any) -> None:
    """Notes the files that a frame is read from, few as a sample has, once; not of a stream."""
    if INFERRED in vars(frame) or frame.isStreaming:
        return
    vars(frame)[INFERRED] = True
    opened.noted(_of_this_machine(_files(frame)), ())


def _elsewhere(frame: Any) -> Iterator[str]:
    """Notes files of this machine, and names all else."""
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves().toSeq()
    names = dict.fromkeys(_named(leaves.apply(at)) for at in range(leaves.length()))
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
    files = frame._jdf.inputFiles()
    return [urlsplit(file) for file in files] if len(files) <= MOST_FILES else []


def _of_this_machine(places: Iterable[SplitResult]) -> list[str]:
    return [unquote(place.path) for place in places if place.scheme in HERE]


def _named(leaf: Any) -> str:
    """The kind of a leaf; empty of files."""
    name = str(leaf.getClass().getSimpleName())
    if name == "LogicalRDD":
        return "Range" if _is_of_lists(leaf.rdd()) else name
    if name == "LogicalRelation":
        relation = str(leaf.relation().getClass().getSimpleName())
        return "" if relation == "HadoopFsRelation" else relation
    return name


def _is_of_lists(rdd: Any) -> bool:
    rest = [rdd]
    while rest:
        rdd = rest.pop()
        above = rdd.dependencies()
        if above.isEmpty() and rdd.getClass().getSimpleName() != OF_A_LIST:
            return False
        rest += [above.apply(at).rdd() for at in range(above.length())]
    return True
