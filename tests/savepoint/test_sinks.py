from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.domain.ids import QueryName
from pipelines.domain.savepoints import QueryImage
from pipelines.savepoint import sinks

PARENT = "/w/jobs/a/output"
IMAGE = QueryImage(QueryName("q"), "id", 4, 0, 0, (), "none", 0, (), {}, "parquet", f"{PARENT}/counts", 0, 0)

FILE_CASES = {
    "both by {output}": (("{output}",), ("{output}",), f"{PARENT}/counts", "carry"),
    "{output} within an argument": (("--out={output}/x",), ("--out={output}/x",), f"file://{PARENT}/x", "carry"),
    "the fork lost {output}": (("{output}",), (), f"{PARENT}/counts", "refuse"),
    "the fork names the parent's directory": (("{output}",), ("{output}", f"{PARENT}/counts"), f"{PARENT}/counts", "refuse"),
    "the fork names it in an option": (("{output}",), ("{output}", f"--out={PARENT}"), f"{PARENT}/counts", "refuse"),
    "the same literal path": (("/data/out",), ("/data/out",), "/data/out/counts", "refuse"),
    "the literal path replaced": (("/data/out",), ("{output}",), "/data/out/counts", "carry"),
    "another literal path": (("/data/out",), ("/data/other",), "/data/out/counts", "carry"),
    "a directory with the same beginning": (("/data/out",), ("/data/outer",), "/data/out", "carry"),
    "written into the code": ((), (), "/data/out", "refuse"),
    "written into the code, {output} for something else": (("{output}",), ("{output}",), "/data/out", "refuse"),
    "the code had it, the fork takes {output}": ((), ("{output}",), "/data/out", "carry"),
}


@pytest.mark.parametrize(("before", "now", "path", "action"), FILE_CASES.values(), ids=FILE_CASES.keys())
def test_a_forks_file_sink(before: tuple[str, ...], now: tuple[str, ...], path: str, action: str) -> None:
    plan = sinks.for_fork(replace(IMAGE, sink_path=path), before, now, PARENT)
    assert plan.action == action
    assert plan.message


@pytest.mark.parametrize("sink", ["memory", "console", "noop", "foreach", "foreachBatch", "delta", "kafka"])
def test_other_sinks_carry_nothing_and_say_what_to_expect(sink: str) -> None:
    image = replace(IMAGE, sink=sink, sink_path="")
    for plan in (sinks.for_fork(image, (), (), PARENT), sinks.for_resume(image)):
        assert (plan.action, bool(plan.message)) == ("none", True)


def test_a_resume_cuts_its_own_sink() -> None:
    assert sinks.for_resume(IMAGE).action == "cut"
    assert sinks.for_resume(replace(IMAGE, sink="Parquet")).action == "cut"
