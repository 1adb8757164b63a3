"""A savepoint's Delta tables in words."""

from __future__ import annotations

from dataclasses import replace

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
