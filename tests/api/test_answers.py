"""Answers are JSON as FastAPI writes it, and are not written in the loop that serves everybody."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from pipelines.api.answers import Writer


@dataclass(frozen=True)
class Row:
    name: str
    rate: float
    counts: Mapping[str, int | None]


ROWS = [Row("ä/é", float("nan"), {"a": 1}), Row("", 1e300, {"b": None})]


@pytest.mark.parametrize(("kind", "answer"), [(Sequence[Row], ROWS), (Sequence[Row], []), (Row, ROWS[0]), (Row | None, None)])
def test_the_json_is_that_of_the_whole(kind: Any, answer: Any) -> None:
    assert Writer(kind).write(answer) == TypeAdapter(kind).dump_json(answer)


def test_it_is_written_by_the_thread_that_asks(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []
    write = Writer.write

    def noted(writer: Writer, answer: Any) -> bytes:
        threads.append(threading.current_thread().name)
        return write(writer, answer)

    monkeypatch.setattr(Writer, "write", noted)
    assert client.get("/v1/jobs").status_code == 200
    assert len(threads) == 1 and threads[0].startswith("AnyIO worker thread")
