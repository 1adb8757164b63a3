"""A savepoint's Delta tables in words."""

from __future__ import annotations

from dataclasses import replace

from pipelines.domain.ids import QueryName, RunId, VersionId
from pipelines.domain.savepoints import TableImage
from pipelines.words import savepoints
from tests import samples


def test_a_delta_table_is_named_with_its_version() -> None:
    image = replace(samples.query_image("a", 7), sink="delta", sink_path="", sink_table="/lake/t")
    kept, left = (replace(image, table=TableImage(1_205, why)) for why in ("", "its files are gone"))
    assert savepoints.tables([image, kept, left]) == (
        f"{image.query}: version 1,205 of /lake/t",
        f"{image.query}: version 1,205 of /lake/t, which it does not hold: its files are gone",
    )
    assert savepoints.left_tables([image, kept]) == ()
    assert savepoints.left_tables([left]) == (f"{savepoints.tables([left])[0]}. A fork begins with this sink fresh.",)


def test_of_several_queries_the_batch_of_each_is_named() -> None:
    image = samples.query_image("clicks", 9)
    queries = tuple(replace(image, query=QueryName(query), batch=batch) for query, batch in [("a", 9), ("b", 1_204), ("c", 7), ("d", -1)])
    savepoint = replace(samples.savepoint("sp-1", "clicks", version=VersionId("v-1"), run=RunId("r-1")), queries=queries)
    assert savepoints.points(savepoint) == "batch 9 of a, batch 1,204 of b, batch 7 of c, d not begun"
    assert savepoints.numbers(savepoint) == "9 · 1,204 · 7"
    more = replace(savepoint, queries=(*queries[:3], replace(image, batch=5)))
    assert savepoints.numbers(more) == "9 · 1,204 · 7 · …"
