"""Logs of file sources that a kill left ahead of the plan: what is cut, what is left alone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from pipelines.domain.runs import EVENTS_FILE
from pipelines.driver import sources
from pipelines.driver.records import Records

RATE = "v1\n1767225600000"
ENTRY = '{"path":"file:///in/1.json","timestamp":1,"batchId":1}'


def checkpoint(folder: Path, offsets: Iterable[str] | None, logs: dict[str, tuple[str, ...]], text: str = f"v1\n{ENTRY}") -> Path:
    """One whose newest batch is 7, with `offsets`; none is planned where they are None."""
    (folder / "offsets").mkdir(parents=True)
    if offsets is not None:
        (folder / "offsets" / "7").write_text("\n".join(offsets))
    for source, names in logs.items():
        log = folder / "sources" / source
        log.mkdir(parents=True)
        for name in names:
            (log / name).write_text(text)
            (log / f".{name}.crc").write_text("crc")
    return folder


def mended(folder: Path, made: Path) -> tuple[dict[str, set[str]], list[str]]:
    """What is left of each log with its checksums, and the kinds of the events."""
    sources.mend(Records(folder, lambda: 1), "q", made)
    left = {log.name: {path.name for path in log.iterdir()} for log in (made / "sources").glob("*")}
    events = folder / EVENTS_FILE
    return left, [json.loads(line)["kind"] for line in events.read_text().splitlines()] if events.exists() else []


def with_checksums(*names: str) -> set[str]:
    return {*names, *(f".{name}.crc" for name in names)}


FILE = '{"logOffset":2}'
CASES: dict[str, tuple[list[str] | None, tuple[str, ...], tuple[str, ...], list[str]]] = {
    "nothing ahead": (["v1", "{}", FILE], ("0", "1", "2"), ("0", "1", "2"), []),
    "one ahead": (["v1", "{}", FILE], ("0", "1", "2", "3"), ("0", "1", "2"), ["source.mended"]),
    "several ahead, one compact": (["v1", "{}", FILE], ("0", "1", "2", "3.compact", "4"), ("0", "1", "2"), ["source.mended"]),
    "after a compact one": (["v1", "{}", FILE], ("1.compact", "2", "3"), ("1.compact", "2"), ["source.mended"]),
    "what came before is gone": (["v1", "{}", FILE], ("3.compact", "4"), ("3.compact", "4"), ["source.ahead"]),
    "nothing planned at all": (None, ("0",), (), ["source.mended"]),
    "nothing of this source planned": (["v1", "{}", "-"], ("0",), (), ["source.mended"]),
    "Kafka's": (["v1", "{}", '{"topic":{"0":3}}'], ("0",), ("0",), []),
    "a number": (["v1", "{}", "12"], ("0",), ("0",), []),
    "a topic called so": (["v1", "{}", '{"logOffset":{"0":1}}'], ("0", "9"), ("0", "9"), []),
}


@pytest.mark.parametrize("name", CASES)
def test_a_log_is_cut_back_to_the_plan(tmp_path: Path, name: str) -> None:
    offsets, names, left, events = CASES[name]
    assert mended(tmp_path, checkpoint(tmp_path / "checkpoint", offsets, {"0": names})) == ({"0": with_checksums(*left)}, events)


def test_each_source_by_its_name(tmp_path: Path) -> None:
    made = checkpoint(
        tmp_path / "checkpoint", ["v2", "{}", f"clicks:{FILE}", 'views:{"logOffset":0}'], {"clicks": ("2", "0", "1"), "views": ("0", "1")}
    )
    assert mended(tmp_path, made) == ({"clicks": with_checksums("0", "1", "2"), "views": with_checksums("0")}, ["source.mended"])


@pytest.mark.parametrize("text", [RATE, "\0v1\n{}", "v1", "v1\n[]"])
def test_other_logs_are_left_alone(tmp_path: Path, text: str) -> None:
    assert mended(tmp_path, checkpoint(tmp_path / "checkpoint", None, {"0": ("0",)}, text)) == ({"0": with_checksums("0")}, [])


def test_a_checkpoint_that_is_not_there_yet(tmp_path: Path) -> None:
    assert mended(tmp_path, tmp_path / "none") == ({}, [])
