"""The generator: the same arguments make the same files, however often it is begun."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

JOBS = Path(__file__).parents[2] / "pipelines" / "jobs"
START = "2025-01-01T00:00:00Z"


def generate(out: Path, files: int, *more: str) -> None:
    arguments = ["--out", out, "--files", str(files), "--fast", "--start", START, "--rate", "60", "--promote-after", "20", *more]
    subprocess.run([sys.executable, JOBS / "post_events.py", *arguments], check=True)


def contents(out: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(out.glob("events-*.json"))}


def events(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for text in contents(out).values() for line in text.splitlines()]


def test_a_file_depends_on_the_arguments_and_its_number_alone(tmp_path: Path) -> None:
    generate(tmp_path / "once", 8)
    generate(tmp_path / "twice", 3)
    generate(tmp_path / "twice", 8, "--start", "now")
    assert contents(tmp_path / "once") == contents(tmp_path / "twice")
    generate(tmp_path / "other", 8, "--seed", "8")
    assert contents(tmp_path / "once") != contents(tmp_path / "other")


def test_files_have_increasing_times_and_nothing_else_is_seen(tmp_path: Path) -> None:
    generate(tmp_path, 12)
    times = [path.stat().st_mtime_ns // 1_000_000 for path in sorted(tmp_path.glob("events-*.json"))]
    assert all(earlier < later for earlier, later in pairwise(times))
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("events-")] == [".start.json"]


def test_promotion_begins_when_it_should_and_brings_traffic(tmp_path: Path) -> None:
    generate(tmp_path, 60)
    paid = [event for event in events(tmp_path) if event["promoted"]]
    assert min(event["event_time"] for event in paid) >= "2025-01-01T00:00:20.000Z"
    assert len({event["post"] for event in paid}) == 8
    assert 0.1 < len(paid) / len(events(tmp_path)) < 0.5


def test_some_events_are_out_of_order_and_some_too_late(tmp_path: Path) -> None:
    generate(tmp_path, 200, "--late", "0.05")
    for name, text in list(contents(tmp_path).items())[-1:]:
        times = [json.loads(line)["event_time"] for line in text.splitlines()]
        assert times != sorted(times), name
    last = [json.loads(line) for line in contents(tmp_path)["events-00000199.json"].splitlines()]
    assert any(event["event_time"] < "2025-01-01T00:02:40" for event in last)


def test_popular_posts_have_more_traffic(tmp_path: Path) -> None:
    generate(tmp_path, 30)
    seen = sorted(Counter(event["post"] for event in events(tmp_path) if not event["promoted"]).values(), reverse=True)
    assert sum(seen[:10]) > sum(seen[10:]) * 0.6
    assert {event["kind"] for event in events(tmp_path)} == {"view", "click"}


def test_the_split_job_differs_in_one_decision() -> None:
    plain, split = (JOBS / name for name in ("post_engagement.py", "post_engagement_split.py"))
    lines = zip(plain.read_text().splitlines(), split.read_text().splitlines(), strict=True)
    changed = [number for number, (before, after) in enumerate(lines) if before != after]
    assert len(changed) == 3, "the module's docstring, the decision's, the decision"
