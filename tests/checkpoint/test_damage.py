"""Whatever happened to a checkpoint's files, what comes out is a typed error that names one of them, or an answer."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.checkpoint import commits, metadata, offsets, operators, sink_log, state_files
from pipelines.checkpoint.closure import closure, newest_committed
from pipelines.checkpoint.retained import retained
from pipelines.domain.errors import TidemarkError
from tests.checkpoint.golden import NAMES, MemoryStorage, checkpoint, in_memory, sink


@cache
def read_by_closure(name: str) -> tuple[dict[str, bytes], list[str]]:
    """A golden's files, and the paths of those that a closure of its newest batch reads."""
    files = in_memory(checkpoint(name)).files

    class Watched(MemoryStorage):
        seen: list[str] = []

        def read(self, path: str) -> bytes:
            self.seen.append(path)
            return super().read(path)

    watched = Watched(files)
    batch = newest_committed(watched)
    assert batch is not None
    closure(watched, batch)
    return files, sorted(set(watched.seen))


VALUES = [b"-1", b"9" * 30, b"null", b"1.5", b'"x"', b"[]", b"{}", b"true"]
CONTENTS = [b"", b"v1", b"v1\n", b"v1\n[]", b"v1\nnull", b"{}", b"null", b"v1\n{}", b"v2\n{}\n:", b"\xff\xfe"]


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """`data` cut short, with bytes changed, put in, or replaced altogether."""
    where = draw(st.integers(0, len(data)))
    match draw(st.sampled_from(["cut", "flip", "insert", "number", "all"])):
        case "cut":
            return data[:where]
        case "flip":
            return data[:where] + bytes([draw(st.integers(0, 255))]) + data[where + 1 :]
        case "insert":
            return data[:where] + draw(st.binary(max_size=8)) + data[where:]
        case "number":
            digits = [index for index, byte in enumerate(data) if chr(byte).isdigit()] or [0]
            at = draw(st.sampled_from(digits))
            return data[:at] + draw(st.sampled_from(VALUES)) + data[at + 1 :]
        case _:
            return draw(st.sampled_from(CONTENTS))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_damaged_checkpoint_gives_typed_errors_only(name: str, data: st.DataObject) -> None:
    files, read = read_by_closure(name)
    path = data.draw(st.sampled_from(read))
    storage = MemoryStorage(files | {path: data.draw(damaged(files[path]))})
    batch = newest_committed(storage)
    assert batch is not None
    for ask in (lambda: closure(storage, batch), lambda: retained(storage)):
        try:
            ask()
        except TidemarkError as error:
            assert error.code.startswith(("checkpoint.", "storage."))
            assert error.message
            assert error.hint


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_missing_files_give_typed_errors_only(name: str, data: st.DataObject) -> None:
    files, _ = read_by_closure(name)
    gone = data.draw(st.sets(st.sampled_from(sorted(files)), min_size=1, max_size=20))
    storage = MemoryStorage({path: content for path, content in files.items() if path not in gone})
    try:
        batches = retained(storage)
        for batch in batches[-2:]:
            closure(storage, batch.batch)
    except TidemarkError as error:
        assert error.hint


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_damaged_sink_log_gives_typed_errors_only(data: st.DataObject) -> None:
    files = in_memory(sink("hdfs")).files
    path = data.draw(st.sampled_from(sorted(files)))
    storage = MemoryStorage(files | {path: data.draw(damaged(files[path]))})
    batch = data.draw(st.integers(0, 15))
    try:
        log = sink_log.read(storage, batch)
        sink_log.live_files(log, batch)
        sink_log.cut(log, batch)
    except TidemarkError as error:
        assert error.hint


READERS = {
    "metadata": lambda data: metadata.parse(data),
    "offsets": lambda data: offsets.parse(0, data),
    "commits": lambda data: commits.parse(0, data),
    "operators": lambda data: operators.parse("state/0/_metadata/metadata", data),
    "snapshot": lambda data: state_files.immutables("1.zip", data),
    "changelog": lambda data: state_files.lineage("1_a.changelog", data),
}


@pytest.mark.parametrize("reader", READERS)
@given(data=st.binary() | st.text().map(str.encode) | st.binary().map(b"v1\n".__add__) | st.binary().map(b"LZ4Block\x20".__add__))
def test_any_bytes_give_typed_errors_only(reader: str, data: bytes) -> None:
    try:
        READERS[reader](data)
    except TidemarkError as error:
        assert error.hint
