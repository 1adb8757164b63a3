"""The doors into Spark's planner that this package rests on: internals of Spark 4.3, and a test of them before they are trusted.

`IncrementalExecution` plans a batch of a streaming query without running it: no sink, no data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from pipelines.domain.operators import PARTITIONS_CONF
from pipelines.driver.planning.forms import items

STREAMING = "org.apache.spark.sql.execution.streaming"
CATALYST = "org.apache.spark.sql.catalyst.expressions"
KNOWN = ("4.3.",)
"""Versions of Spark whose internals were measured."""
WATERMARK = "EventTimeWatermarkExec"
CHECKED = "spark.sql.streaming.unsupportedOperationCheck"
CHECKER = "org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker"
STEADY = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.cbo.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.exchange.reuse": "false",
}
"""Confs under which a plan shows all of itself, always in the same way."""


class Doors:
    """Plans the batches of streaming frames of one session."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self.jvm = spark._jvm
        self._classes = self.jvm.java.lang.Class
        self._loader = self.jvm.java.lang.Thread.currentThread().getContextClassLoader()
        self._streaming = self.jvm.org.apache.spark.sql.execution.streaming
        self._writer = self.of(f"{STREAMING}.operators.stateful.StateStoreWriter")

    def beginning(self, analyzed: Any, mode: str, folder: Path, pinned: Path | None, batch: int, now_ms: int) -> Any:
        """The plan of batch 0 in the empty `folder`, where Spark writes what the operators would keep.

        `pinned` is a checkpoint whose confs hold for it (those of its entry `batch`), as they will for the query.
        """
        (folder / "offsets").mkdir(parents=True)
        (folder / "offsets" / "0").write_text('v1\n{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}\n')
        session = self._session()
        if pinned is not None:
            self._pin(session, pinned, batch)
        self._divide(session)
        self._check(session, analyzed, mode)
        metadata = self._metadata().apply(0, now_ms, session.conf())
        execution = self._execution(session, analyzed, mode, folder, 0, self.jvm.scala.Option.empty(), metadata)
        plan = execution.executedPlan()
        execution.writeRecordedStateMetadata()
        return plan

    def next(self, analyzed: Any, mode: str, checkpoint: Path, batch: int, now_ms: int) -> None:
        """Plans the batch after `batch` on a copy of a checkpoint; raises what Spark raises where its state does not fit."""
        session = self._session()
        before = self._pin(session, checkpoint, batch)
        self._divide(session)
        watermark = _watermark(checkpoint / "commits" / str(batch))
        metadata = self._metadata().apply(watermark, now_ms, before.get().conf())
        with _planned(checkpoint / "offsets", batch + 1):
            self._execution(session, analyzed, mode, checkpoint, batch + 1, before, metadata).executedPlan()

    def stateful(self, plan: Any) -> list[Any]:
        """The stateful operators of a plan, by their ids."""
        nodes = [node for node in self._below(plan) if self._writer.isInstance(node)]
        return sorted(nodes, key=lambda node: int(node.getStateInfo().operatorId()))

    def watermarks_beside(self, node: Any, plan: Any) -> list[Any]:
        """The watermarks of a plan that are not below `node`: a query has one of all (WatermarkTracker), and all state is kept by that."""
        every = [other for other in self._below(plan) if other.getClass().getSimpleName() == WATERMARK]
        below = [other for other in self._below(node) if other.getClass().getSimpleName() == WATERMARK] if every else []
        return [other for other in every if other not in below]

    def _below(self, plan: Any) -> list[Any]:
        return [plan, *(node for child in items(plan.children()) for node in self._below(child))]

    def _session(self) -> Any:
        session = self._spark._jsparkSession.cloneSession()
        for key, value in STEADY.items():
            session.conf().set(key, value)
        return session

    def _pin(self, session: Any, checkpoint: Path, batch: int) -> Any:
        log = self._streaming.checkpointing.OffsetSeqLog(session, f"file:{checkpoint / 'offsets'}", False)
        before = log.offsetSeqMetadataForBatchId(batch)
        self._metadata().setSessionConf(before.get(), session.sessionState().conf())
        return before

    def _divide(self, session: Any) -> None:
        """As StreamExecution does; without it the planner has no number of partitions."""
        key = self.jvm.org.apache.spark.sql.internal.SQLConf.STATEFUL_SHUFFLE_PARTITIONS_INTERNAL().key()
        session.conf().set(key, session.conf().get(PARTITIONS_CONF))

    def _check(self, session: Any, analyzed: Any, mode: str) -> None:
        """Raises what Spark raises of a query that it does not stream, as it starts it (ResolveWriteToStream)."""
        if session.conf().get(CHECKED) == "true":
            output_mode = getattr(self.jvm.org.apache.spark.sql.streaming.OutputMode, mode)()
            self.object(CHECKER).checkForStreaming(analyzed, output_mode)

    def _execution(self, session: Any, analyzed: Any, mode: str, checkpoint: Path, batch: int, before: Any, metadata: Any) -> Any:
        random, buffer = self.jvm.java.util.UUID.randomUUID, self.jvm.scala.collection.mutable.HashMap
        return self._streaming.runtime.IncrementalExecution(
            session,
            analyzed,
            getattr(self.jvm.org.apache.spark.sql.streaming.OutputMode, mode)(),
            f"file:{checkpoint / 'state'}",
            random(),
            random(),
            batch,
            before,
            metadata,
            self.object(f"{STREAMING}.runtime.WatermarkPropagator").apply(session.sessionState().conf()),
            True,
            buffer(),
            buffer(),
            self.object("org.apache.spark.sql.execution.CommandExecutionMode").ALL(),
            False,
            False,
        )

    def _metadata(self) -> Any:
        return self.object(f"{STREAMING}.checkpointing.OffsetSeqMetadata")

    def seq(self, *parts: Any) -> Any:
        """A Scala sequence."""
        return self._sequences.toSeq(list(parts))

    @cached_property
    def alias(self) -> Any:
        """Makes an expression that has a name."""
        return self.jvm.org.apache.spark.sql.catalyst.expressions.Alias

    @cached_property
    def project(self) -> Any:
        """Makes a logical plan of columns."""
        return self.jvm.org.apache.spark.sql.catalyst.plans.logical.Project

    @cached_property
    def aggregate(self) -> Any:
        """Makes a logical aggregation."""
        return self.jvm.org.apache.spark.sql.catalyst.plans.logical.Aggregate

    @cached_property
    def ids(self) -> Any:
        """Gives expressions new ids."""
        return self.object(f"{CATALYST}.NamedExpression")

    @cached_property
    def none(self) -> Any:
        return self.jvm.scala.Option.empty()

    @cached_property
    def _sequences(self) -> Any:
        return self.jvm.org.apache.spark.api.python.PythonUtils

    def object(self, name: str) -> Any:
        """The one object of a Scala class."""
        return self.of(f"{name}$").getField("MODULE$").get(None)

    def of(self, name: str) -> Any:
        """A class of the JVM."""
        return self._classes.forName(name, True, self._loader)


@contextmanager
def _planned(offsets: Path, batch: int) -> Iterator[None]:
    """The offset log as it is when Spark plans `batch`: its entry is there (OperatorStateMetadataV2Reader refuses a batch without one)."""
    entry = offsets / str(batch)
    with entry.open("xb") as file:  # never into a file that is there: it may be a link to the savepoint's
        file.write((offsets / str(batch - 1)).read_bytes())
    try:
        yield
    finally:
        entry.unlink()


def _watermark(commit: Path) -> int:
    lines = commit.read_text().splitlines()
    raw = json.loads(lines[1]) if len(lines) > 1 and lines[1] else {}
    return int(raw.get("nextBatchWatermarkMs", 0))
