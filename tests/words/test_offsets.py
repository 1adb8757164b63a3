"""Offsets and sources in words."""

from __future__ import annotations

import pytest

from pipelines.domain.ids import QueryName
from pipelines.domain.moved_sources import MovedSource
from pipelines.words import formats, offsets
from tests import delta

SAID = [
    ("", "the beginning"),
    ('{"logOffset":9}', "entry 9 of the file log"),
    ('{"clicks":{"0":50,"1":7}}', "clicks: 57 in 2 partitions"),
    ('{"a":{"0":1},"b":{"0":"x"}}', "a: 1 in 1 partition; b: 1 partition"),
    ("1052", "1,052"),
    ("null", "the beginning"),
    ('{"position":7}', "position 7"),
    ('{"at":{"x":1},"more":[2]}', '{"at":{"x":1},"more":[2]}'),
    ('{"offset":3,"timestamp":5}', "offset 3, timestamp 5"),
    ("not json", "not json"),
    ('{"next":480,"holds":{"next":20}}', "next 480"),
    ('{"keeps_ms":86400000}', formats.MISSING),
    ("{}", "{}"),
    ('{"s-0":{"after":"7","ended":true},"s-1":{"after":"","ended":false}}', "s-0: after 7, ended; s-1"),
    ('{"s-0":{"after":{"at":7}}}', "s-0: after: at 7"),
    (delta.offset(1_234), "version 1,234"),
    (delta.offset(3, 1), "version 3, 2 files of it read"),
    (delta.offset(3, 0, in_snapshot=True), "the whole of version 3, 1 file of it read"),
    ('{"version":1,"snapshot_id":5938471,"position":2,"scan_all_files":false}', "snapshot 5938471, 2 files of it read"),
    ('{"version":1,"snapshot_id":5938471,"position":0,"scan_all_files":true}', "the whole of snapshot 5938471"),
    ('{"version":1,"snapshot_id":-1,"position":-1,"scan_all_files":false}', "the beginning"),
    ('{"version":1,"snapshot_id":"x","position":-1,"scan_all_files":false}', "version 1, snapshot_id x, position -1"),
]


@pytest.mark.parametrize(("text", "words"), SAID)
def test_offsets(text: str, words: str) -> None:
    assert offsets.words(text) == words


MOVED = {
    "files": (
        MovedSource(QueryName("nested"), "0", '{"logOffset":8}', '{"logOffset":8}', 0, 9, "files"),
        "source 0 of nested (files): 9 files read again, which the state has already; what is older than its watermark counts as late",
    ),
    "files that may be left out": (
        MovedSource(QueryName("counts"), "in", '{"logOffset":6}', '{"logOffset":7}', 3, 0, "files", at_most=True),
        "source in of counts (files): at most 3 files skipped: the state never gets them",
    ),
    "rows": (
        MovedSource(QueryName("counts"), "0", '{"clicks":{"0":5}}', '{"clicks":{"0":6}}', 1, 0, "rows"),
        "source 0 of counts, clicks: 5 in 1 partition → clicks: 6 in 1 partition: 1 row skipped: the state never gets them",
    ),
    "nowhere": (
        MovedSource(QueryName("counts"), "0", '{"clicks":{"0":5}}', '{"clicks":{"0":5}}', 0, 0, "rows"),
        "source 0 of counts, clicks: 5 in 1 partition → clicks: 5 in 1 partition: nothing is skipped or read again",
    ),
}


@pytest.mark.parametrize("name", MOVED)
def test_a_source_that_goes_on_from_elsewhere(name: str) -> None:
    source, words = MOVED[name]
    assert offsets.moved(source) == words


SOURCES = [
    ("FileStreamSource[file:/data/jobs/post_events/output]", "files in post_events/output"),
    ("FileStreamSource[s3a://lake/events/]", "files in lake/events"),
    ("KafkaV2[Subscribe[clicks]]", "Kafka clicks"),
    ("DeltaSource[file:/data/lake/events]", "Delta lake/events"),
    ("IcebergSource[/data/lake/events]", "Iceberg lake/events"),
    ("org.apache.iceberg.spark.source.SparkMicroBatchStream@3f2a1b", "an Iceberg table"),
    ("RateStreamV2[rowsPerSecond=5, rampUpTimeSeconds=0, numPartitions=default", "rate"),
    ("org.apache.spark.sql.execution.datasources.v2.python.PythonMicroBatchStream@103b8a6c", "a Python data source"),
    ("source 0", "source 0"),
]


@pytest.mark.parametrize(("description", "name"), SOURCES)
def test_sources(description: str, name: str) -> None:
    assert formats.source_name(description) == name
