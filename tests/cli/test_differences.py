"""`diff`: two points as text and as JSON."""

from __future__ import annotations

from pipelines.verbs.plan_difference import ComparePlans
from tests.cli.doors import Door
from tests.planned import SUM

FIRST = "sp-000000000002"


def test_what_differs_is_printed_and_what_is_the_same_is_named(tidemark: Door) -> None:
    done = tidemark("diff", FIRST, "post_engagement")
    assert done.exit_code == 0, done.stderr
    for part in ("A  savepoint sp-000000000002 of post_engagement, batch 7", "progress:", "+3", "unknown", "the same: code, arguments"):
        assert part in done.stdout
    assert "shuffle.partitions" not in done.stdout
    assert "shuffle.partitions" in tidemark("diff", FIRST, "post_engagement", "--all").stdout


def test_code_is_a_unified_difference(tidemark: Door) -> None:
    shown = tidemark("diff", "post_engagement", "post_engagement_split").stdout
    assert "-print('a')\n+print('b')" in shown


def test_json_and_a_version_without_a_checkpoint(tidemark: Door) -> None:
    version = tidemark.face.runs["post_engagement"][-1].version
    differences = tidemark.json("diff", version, FIRST)
    assert differences["a"]["kind"] == "version" and differences["b"]["batch"] == 7
    assert [section["name"] for section in differences["sections"] if section["compared"]] == ["arguments", "confs", "runtime"]
    assert "not compared, no checkpoint is known: pinned confs" in tidemark("diff", version, FIRST).stdout


def test_plans_are_compared_when_they_are_asked_for(tidemark: Door) -> None:
    shown = tidemark("diff", FIRST, "post_engagement", "--plans")
    assert shown.exit_code == 0, shown.stderr
    assert tidemark.face.begun == [ComparePlans(FIRST, "post_engagement")]
    for part in ("plans, as the verdict on state of A under the code of B", f"computes: {SUM} before", "late: operator 0", "rand()"):
        assert part in shown.stdout
    assert tidemark.json("diff", FIRST, "post_engagement", "--plans")["plans"]["outcome"] == "changed meaning"
    assert tidemark.json("diff", FIRST, "post_engagement_split")["plans"] is None


def test_what_is_not_there(tidemark: Door) -> None:
    assert tidemark("diff", "nobody", FIRST).exit_code == 3
