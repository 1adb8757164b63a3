"""The search in a driver's log: entries with their stack traces, levels, times, and what is counted."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from pipelines.domain import logs
from pipelines.domain.ids import RunId
from pipelines.domain.logs import LogLevel
from pipelines.domain.runs import LOG_FILE
from pipelines.storage import fronts
from pipelines.verbs.jobs import ReadLog, SearchLog
from pipelines.workspace import logs as searching
from tests.storage.s3_server import ROOT
from tests.workspace.conftest import House

TEXT = """WARNING: Using incubator modules
Setting Spark log level to "ERROR".
26/11/22 08:27:29 INFO Tasks: ä is done
26/11/22 08:27:30 ERROR MicroBatch: it broke
org.apache.spark.SparkException: Job aborted
\tat a.b.C(D.scala:3)
Caused by: java.io.IOException: no space

26/11/22 08:27:31 INFO Tasks: on
[Stage 1:>  (0 + 2) / 2]\r          \r26/11/22 08:27:32 WARN Disk: nearly full
Traceback (most recent call last):
  File "job.py", line 3, in <module>
pyspark.errors.StreamingQueryException: [X] it ended
JVM stacktrace:
\tat z
2026-11-22 08:27:33,120 - root - CRITICAL - no exit
"""
ERRORS = ["ERROR MicroBatch", "Traceback", "2026-11-22"]
LINE_BYTES, KEPT = 100, 1_000_000


def at(clock: str) -> int:
    return round(datetime.fromisoformat(f"2026-11-22T{clock}").timestamp() * 1_000)


@pytest.fixture
def house_with_log(house: House) -> House:
    run = house.begin("a")
    Path(house.folder(run) / LOG_FILE).write_text(TEXT)
    return house


def test_errors_come_with_their_stack_traces(house_with_log: House) -> None:
    search = house_with_log.face.ask(SearchLog("a", level=LogLevel.ERROR))
    assert [next(begin for begin in ERRORS if begin in entry.text) for entry in search.entries] == ERRORS
    first = search.entries[0]
    assert first == search.first and first.text.endswith("IOException: no space") and first.at_ms == at("08:27:30")
    assert TEXT.encode()[first.offset :].startswith(b"26/11/22 08:27:30 ERROR")
    assert search.entries[1].text.endswith("\tat z")
    assert (search.fits, search.errors, search.warnings, search.begin, search.size) == (3, 3, 2, 0, len(TEXT.encode()))


LEVELS = {
    "26/11/22 08:27:29 FATAL Tasks: a": LogLevel.FATAL,
    "CRITICAL:root:b": LogLevel.FATAL,
    "SEVERE: c": LogLevel.ERROR,
    "26/11/22 08:27:29 WARN Tasks: after an ERROR": LogLevel.WARNING,
    "26/11/22 08:27:29 INFO Tasks: an ERROR that is none": LogLevel.INFO,
    "[DEBUG] d": LogLevel.DEBUG,
    "26/11/22 08:27:29 TRACE Tasks: e": LogLevel.TRACE,
    "INFORMATION about WARNINGS": LogLevel.OTHER,
    "printed": LogLevel.OTHER,
}


@pytest.mark.parametrize("level", LogLevel)
def test_every_level_has_all_that_is_worse(house: House, level: LogLevel) -> None:
    Path(house.folder(house.begin("a")) / LOG_FILE).write_text("\n".join(LEVELS) + "\n")
    search = house.face.ask(SearchLog("a", level=level))
    assert [entry.text for entry in search.entries] == [line for line, said in LEVELS.items() if said.is_at_least(level)]
    assert (search.errors, search.warnings) == (3, 1) and {line: logs.level_of(line) for line in LEVELS} == LEVELS


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        (SearchLog("a", text="NEARLY"), ["26/11/22 08:27:32 WARN Disk: nearly full"]),
        (SearchLog("a", text="log level"), ['Setting Spark log level to "ERROR".']),
        (SearchLog("a", from_ms=at("08:27:31"), to_ms=at("08:27:31")), ["26/11/22 08:27:31 INFO Tasks: on"]),
        (SearchLog("a", level=LogLevel.ERROR, limit=1), ["2026-11-22 08:27:33,120 - root - CRITICAL - no exit"]),
        (SearchLog("a", text="nowhere"), []),
    ],
)
def test_what_fits(house_with_log: House, question: SearchLog, texts: list[str]) -> None:
    assert [entry.text for entry in house_with_log.face.ask(question).entries] == texts


def test_of_a_very_long_log_the_end_is_searched(house_with_log: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "MOST_SEARCHED_BYTES", 60)
    search = house_with_log.face.ask(SearchLog("a"))
    assert [entry.text for entry in search.entries] == ["2026-11-22 08:27:33,120 - root - CRITICAL - no exit"]
    assert 0 < search.begin < search.size and not search.warnings


@pytest.mark.parametrize(
    ("configured", "texts"),
    [
        ("", ["WARNING job: late", "ERROR job: lost"]),
        ("logging.basicConfig(format='%(levelname)s|%(message)s'); ", ["WARNING|late", "ERROR|lost"]),
        ("logging.getLogger('job').addHandler(logging.NullHandler()); ", []),
    ],
)
def test_what_python_logs_in_a_driver_has_its_level_and_a_jobs_own_handlers_show_what_they_do(configured: str, texts: list[str]) -> None:
    job = f"import logging; {configured}log = logging.getLogger('job'); log.info('on'); log.warning('late'); log.error('lost')"
    code = f"from pipelines.driver import own_logging; own_logging.name_levels(); {job}"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True).stderr
    search = logs.search(said.splitlines(keepends=True), logs.Wanted(level=LogLevel.WARNING), 5, RunId("r"))
    assert [entry.text[-len(text) :] for entry, text in zip(search.entries, texts, strict=True)] == texts
    assert all((entry.at_ms is not None) is not bool(configured) for entry in search.entries)


def test_a_run_without_a_log_has_nothing(house: House) -> None:
    house.begin("a")
    search = house.face.ask(SearchLog("a"))
    assert (search.entries, search.first, search.size) == ((), None, 0)


def test_an_endless_entry_is_cut() -> None:
    lines = [b"26/11/22 08:27:30 ERROR a\n", *[b"\tat b\n"] * 10_000]
    search = logs.search(lines, logs.Wanted(), 5, RunId("r"))
    assert search.entries[0].text.count("\n") == logs.MOST_LINES - 1


def test_of_a_log_that_grows_while_its_front_is_freed_the_newest_part_stays_at_its_place(house: House) -> None:
    """Two processes write to it, as a driver and its JVM do, and nothing that is kept moves or is lost."""
    path = Path(house.folder(house.begin("a")) / LOG_FILE)
    line = f"f'{{sys.argv[1]}} {{number}}'.ljust({LINE_BYTES - 1}).encode() + b'\\n'"
    code = f"import os, sys\nfor number in range(40_000): os.write(1, {line})"
    with path.open("ab") as log:
        writers = [subprocess.Popen([sys.executable, "-c", code, name], stdout=log) for name in "ab"]
    while any(writer.poll() is None for writer in writers):
        assert fronts.free(path, KEPT)
        chunk = house.face.ask(ReadLog("a", offset=0, limit=LINE_BYTES))
        assert chunk.offset == chunk.begin and "\0" not in chunk.text
    assert fronts.free(path, KEPT)
    assert path.stat().st_size == 80_000 * LINE_BYTES and path.stat().st_blocks * 512 < 1.5 * KEPT
    begin = house.face.ask(ReadLog("a", offset=0)).begin
    assert begin % LINE_BYTES == 0 and path.stat().st_size - begin >= KEPT - LINE_BYTES
    search = house.face.ask(SearchLog("a", limit=5_000))
    assert (search.begin, search.fits) == (begin, (search.size - begin) // LINE_BYTES)
    for name in "ab":
        numbers = [int(entry.text.split()[1]) for entry in search.entries if entry.text.startswith(name)]
        assert numbers == list(range(numbers[0], 40_000)) if numbers else name


def test_a_file_that_has_another_name_keeps_its_front(tmp_path: Path) -> None:
    path, other = tmp_path / LOG_FILE, tmp_path / "other"
    other.write_bytes(b"x" * KEPT)
    path.hardlink_to(other)
    assert fronts.free(path, 1) and path.read_bytes() == b"x" * KEPT
    path.unlink()
    path.symlink_to(other)
    assert fronts.free(path, 1) and other.read_bytes() == b"x" * KEPT


def test_a_search_goes_on_from_a_byte(house_with_log: House) -> None:
    errors = house_with_log.face.ask(SearchLog("a", level=LogLevel.ERROR)).entries
    later = house_with_log.face.ask(SearchLog("a", level=LogLevel.ERROR, offset=errors[1].offset))
    assert [entry.text for entry in later.entries] == [entry.text for entry in errors[1:]] and later.begin == errors[1].offset
    assert house_with_log.face.ask(SearchLog("a", offset=later.size)).entries == ()
    assert house_with_log.face.ask(SearchLog("a", offset=later.size + 9)).entries == ()


STRUCTURED = """{"ts":"2026-11-22T08:27:29.000Z","level":"INFO","msg":"an ERROR that is none","context":{},"logger":"Tasks"}
{"ts":"2026-11-22T08:27:30.000Z","level":"ERROR","msg":"it broke","context":{"task_id":"3"},"exception":{"class":"java.io.IOException",\
"msg":"no space","stacktrace":[{"class":"a.b.C","method":"d","file":"D.scala","line":3}]},"logger":"MicroBatch"}
{"level": "ERROR", "count": 3}
plain
{"@timestamp":"2026-11-22T08:27:31.000Z","log.level":"WARN","message":"nearly full","log.logger":"Disk"}
{"ts":"2026-11-22T08:27:32.000Z","level":"ERROR","msg":"cut
""".replace("\\\n", "")
SAID = [
    (LogLevel.INFO, 29, "2026-11-22T08:27:29.000Z INFO Tasks: an ERROR that is none"),
    (
        LogLevel.ERROR,
        30,
        "2026-11-22T08:27:30.000Z ERROR MicroBatch: it broke [task_id=3]\njava.io.IOException: no space\n\tat a.b.C.d(D.scala:3)",
    ),
    (LogLevel.OTHER, 30, '{"level": "ERROR", "count": 3}'),
    (LogLevel.OTHER, 30, "plain"),
    (LogLevel.WARNING, 31, "2026-11-22T08:27:31.000Z WARN Disk: nearly full"),
    (LogLevel.ERROR, None, '{"ts":"2026-11-22T08:27:32.000Z","level":"ERROR","msg":"cut'),
]


def test_lines_of_json_are_read_as_the_others(house: House) -> None:
    Path(house.folder(house.begin("a")) / LOG_FILE).write_text(STRUCTURED)
    entries = house.face.ask(SearchLog("a")).entries
    entered = [(entry.level, None if entry.at_ms is None else entry.at_ms // 1_000 % 60, entry.text) for entry in entries]
    assert entered == SAID
    assert [entry.text for entry in house.face.ask(SearchLog("a", text="no space")).entries] == [SAID[1][2]]
    assert [logs.level_of(line) for line in STRUCTURED.splitlines()[:2]] == [LogLevel.INFO, LogLevel.ERROR]
