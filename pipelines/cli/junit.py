"""A replay as JUnit's XML, for CI. Its library is imported only where a file is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from pipelines.domain.replays import Outcome, Replay, ReplayedPart
from pipelines.words import replays

NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
Text = Callable[[ReplayedPart], str]
"""What there is to say of a part."""


def document(replay: Replay, text: Text) -> bytes:
    """The replay as JUnit's XML: a test case for the run, and one for each part with its `text`."""
    suite = TestSuite(f"replay of {replay.job}, {replay.savepoint} to {replay.end}")
    suite.timestamp = datetime.fromtimestamp(replay.created_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    suite.add_property("replay", replay.id)
    suite.add_property("version", replay.version)
    run = TestCase("the code runs", replay.job, replay.took_ms / 1000)
    if replay.outcome is Outcome.FAILED:
        run.result = [_told(Error("The code failed", "failed"), replay.failure)]
    suite.add_testcase(run)
    for part in replay.parts:
        case = TestCase(_plain(part.title), replay.job)
        case.result = _result(part, text)
        suite.add_testcase(case)
    file = JUnitXml()
    file.add_testsuite(suite)
    suite.update_statistics()
    file.update_statistics()
    return bytes(file.tostring())


def _result(part: ReplayedPart, text: Text) -> list[Any]:
    if part.outcome is Outcome.DIFFERENT:
        return [_told(Failure(_plain(replays.lines(part)[0]), "different"), text(part))]
    return [Skipped(_plain(part.note))] if part.outcome is Outcome.NOT_COMPARED else []


def _told(result: Any, text: str) -> Any:
    result.text = _plain(text)
    return result


def _plain(text: str) -> str:
    return NO_XML.sub("\ufffd", text)
