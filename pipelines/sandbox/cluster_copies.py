"""Requests to the sandbox to copy files by a Spark of the job's cluster, and its answers: plain data, as JSON between two interpreters.

The folder of a task: `copying.json` (a `CopyTask`) is there before the start; the process replaces `far.json` (a `Far`, in bytes) as it
goes, and writes `result.json` (a `Copied`) or `error.json` (a `Refusal`) as its last act.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.sandbox.counts import Task
from pipelines.storage.carrying import Move


@dataclass(frozen=True)
class CopyTask(Task):
    """Copy each of `moves`, all of one storage."""

    FILE = "copying.json"
    moves: tuple[Move, ...]


@dataclass(frozen=True)
class Copied:
    """Sources that were gone; all other files are there, and the storage's own checksums of both are equal."""

    gone: tuple[str, ...]


def parted(moves: Sequence[Move], tasks: int) -> list[list[Move]]:
    """`moves` as at most so many lists of about as many bytes: the largest first, each to the list that has least."""
    lists: list[list[Move]] = [[] for _ in range(min(tasks, len(moves)))]
    sizes = [(0, number) for number in range(len(lists))]
    for move in sorted(moves, key=lambda move: move.bytes, reverse=True):
        size, number = heapq.heappop(sizes)
        lists[number].append(move)
        heapq.heappush(sizes, (size + move.bytes, number))
    return lists
