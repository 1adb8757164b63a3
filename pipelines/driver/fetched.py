"""Rows that a script fetches from Spark to make its queries of (`collect`, `count`), and which are constants in their plans: what they were
read from is noted, as of files that the script opens itself."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

from pipelines.driver import opened
from pipelines.driver.connect import importing

ACTIONS = ("collect", "toPandas", "toArrow", "toLocalIterator", "count", "isEmpty", "tail")
"""Methods of a frame that answer with rows, or with what they are like; all others that do call these."""
CLASSIC, OF_SPARK_3 = "pyspark.sql.classic.dataframe", "pyspark.sql.dataframe"
IN_THE_CODE = {"LocalRelation", "OneRowRelation", "Range", "EmptyRelation"}
"""Leaves of plans whose rows the code itself says."""
OF_A_LIST = "ParallelCollectionRDD"
MOST_FILES = 100
"""Of more each would be read when a query starts."""
_installed: set[type] = set()


def install() -> None:
    """From now on it is noted."""
    import pyspark

    module = OF_SPARK_3 if pyspark.__version__.startswith("3.") else CLASSIC
    importing.once_imported(module, lambda frames: listen(frames.DataFrame, note))


def listen(frames: type, note: Callable[[Any], None]) -> None:
    """Has `note` told each frame of the class `frames` that the script fetches rows of."""
    if frames in _installed:
        return
    _installed.add(frames)
    for name in ACTIONS:
        if hasattr(frames, name):
            setattr(frames, name, _heard(getattr(frames, name), note))


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

    try:
        elsewhere = list(_elsewhere(frame))
    except Py4JError:  # of a plan that is another than those that are known
        elsewhere = ["Spark for rows"]
    opened.noted((), elsewhere)


def _elsewhere(frame: Any) -> Iterator[str]:
    """Notes files of this machine, and names all else."""
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves().toSeq()
    names = dict.fromkeys(_named(leaves.apply(at)) for at in range(leaves.length()))
    files = frame.inputFiles() if "" in names else []
    yield from (f"Spark for rows of a {name}" for name in names if name and name not in IN_THE_CODE)
    places = [urlsplit(file) for file in files]
    here = [unquote(place.path) for place in places if place.scheme in ("", "file")]
    if len(here) > MOST_FILES:
        yield f"Spark for rows of {len(here)} files at {os.path.commonpath(here)}"
        here = []
    opened.noted(here, ())
    yield from dict.fromkeys(
        f"Spark for rows of files at {place.scheme}://{place.hostname or ''}" for place in places if place.scheme not in ("", "file")
    )


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
