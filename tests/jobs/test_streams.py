"""The collection's generator: the same arguments make the same rows, and each stream has what its jobs look for."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.loading import JOBS

START = ("--fast", "--start", "2026-01-01T00:00:00Z", "--interval", "10")


def generate(out: Path, files: int, *more: str) -> Path:
    subprocess.run([sys.executable, JOBS / "streams.py", "--out", out, "--files", str(files), *START, *more], check=True)
    return out


def contents(out: Path) -> dict[str, str]:
    return {str(path.relative_to(out)): path.read_text() for path in sorted(out.glob("*/*.json"))}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("streams"), 20)


def rows(made: Path, stream: str) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted((made / stream).iterdir()) for line in path.read_text().splitlines()]


def test_a_file_depends_on_the_arguments_and_its_number_alone(made: Path, tmp_path: Path) -> None:
    generate(tmp_path / "twice", 7)
    assert contents(generate(tmp_path / "twice", 20)) == contents(made)
    assert contents(generate(tmp_path / "other", 20, "--seed", "8")) != contents(made)


def test_some_views_come_twice_and_some_have_no_page(made: Path) -> None:
    seen = Counter(row["view"] for row in rows(made, "views"))
    assert set(seen.values()) == {1, 2} and 0.05 < sum(times == 2 for times in seen.values()) / len(seen) < 0.2
    assert any(row["page"] is None for row in rows(made, "views"))


def test_each_click_is_of_an_impression_before_it_and_some_come_in_a_later_file(made: Path) -> None:
    shown = {row["impression"]: row["at"] for row in rows(made, "impressions")}
    clicks = rows(made, "clicks")
    assert all(shown[click["impression"]] < click["at"] for click in clicks)
    assert len({click["impression"] for click in clicks}) == len(clicks)
    later = json.loads((made / "clicks" / "00000009.json").read_text().splitlines()[0])
    assert later["impression"].partition("-")[0] < "9"


def test_stolen_cards_are_tried_and_then_used_in_order(made: Path) -> None:
    payments = rows(made, "payments")
    assert [row["at"] for row in payments] == sorted(row["at"] for row in payments)
    stolen = [row for row in payments if row["card"].startswith("stolen")]
    assert sum(row["amount"] <= 1 for row in stolen) > 5 < sum(row["amount"] >= 500 for row in stolen)
    assert all(1 < row["amount"] < 500 for row in payments if row not in stolen)


def test_a_sensor_is_silent_for_a_while(made: Path) -> None:
    by_file = [
        Counter(json.loads(line)["sensor"] for line in path.read_text().splitlines()) for path in sorted((made / "readings").iterdir())
    ]
    assert any(len(sensors) < 6 for sensors in by_file) and len(set().union(*by_file)) == 6
