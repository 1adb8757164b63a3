"""Errands beside a driver: run again and again, and one that fails keeps no other from being run."""

from __future__ import annotations

import pytest

from pipelines.driver.beside import Beside
from tests.waiting import until


def test_errands_go_on_until_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    done: list[str] = []

    def fails() -> None:
        done.append("failed")
        raise OSError("the disk is full")

    beside = Beside(fails, lambda: done.append("done"), every_s=0.001)
    beside.start()
    until(lambda: done.count("done") > 5)
    beside.close()
    ended = len(done)
    assert done.count("failed") == 1 and "fails failed and is not done any more" in capsys.readouterr().out
    assert len(done) == ended, "none is run after the end"
    Beside(fails).close()
