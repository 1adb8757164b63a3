"""What a driver notes of its queries: each start that says something new."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from pipelines.domain.ids import QueryName
from pipelines.domain.runs import QUERIES_FILE, QueryStarted
from pipelines.driver.records import Records

START = QueryStarted(QueryName("a"), "q", "s", "/checkpoint", "parquet", "/sink", "", "4.3.0", 1)


def test_a_query_that_is_started_in_a_loop_is_noted_once(tmp_path: Path) -> None:
    records = Records(tmp_path, lambda: 1)

    def noted() -> list[tuple[str, int]]:
        lines = (tmp_path / QUERIES_FILE).read_text().splitlines()
        return [(raw["query"], raw["at_ms"]) for raw in map(json.loads, lines)]

    for turn in range(100):
        for name in "ab":
            records.query(replace(START, query=QueryName(name), run_id=f"s-{turn}", at_ms=turn), goes_on=False)
    assert noted() == [("a", 0), ("b", 0)]
    records.query(replace(START, at_ms=100, run_id="t"), goes_on=True)
    records.query(replace(START, at_ms=101, sink_path="/other"), goes_on=False)
    records.query(replace(START, at_ms=102), goes_on=False)
    assert noted()[2:] == [("a", 100), ("a", 101), ("a", 102)], "a batch that was planned before, another place, the first place again"
    Records(tmp_path, lambda: 1).query(replace(START, at_ms=103), goes_on=False)
    assert noted()[5:] == [("a", 103)], "a driver that was begun anew"
