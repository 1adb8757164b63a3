"""What Hadoop is told of S3 by the Spark of a job at a home, and on which storage a path lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.domain.job_places import ENDPOINT, PATH_STYLE, REGION, is_other_s3, s3_conf
from pipelines.driver import destinations
from pipelines.driver.destinations import Destination
from pipelines.driver.intercept import Asked
from pipelines.driver.sinks import place_or_none
from pipelines.hadoop.paths import HadoopPath

OURS, OTHER, OF_BUCKET = "http://127.0.0.1:9000", "http://elsewhere:9000", "spark.hadoop.fs.s3a.bucket.bucket.endpoint"
PLACE = "s3a://bucket/a-r-1/checkpoints/r-1"
TOLD = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9000", "AWS_REGION": "eu-west-1", "AWS_SECRET_ACCESS_KEY": "hidden"}


def test_it_reaches_the_s3_of_the_server_and_is_told_no_secret() -> None:
    assert s3_conf(PLACE, {}, TOLD) == {ENDPOINT: "http://127.0.0.1:9000", REGION: "eu-west-1", PATH_STYLE: "true"}


def test_what_the_version_says_stays() -> None:
    assert s3_conf(PLACE, {REGION: "us-east-1", PATH_STYLE: "false"}, TOLD) == {ENDPOINT: "http://127.0.0.1:9000"}


def test_a_job_in_the_workspace_and_an_environment_without_s3_add_nothing() -> None:
    assert s3_conf("/ws/checkpoints/r-1", {}, TOLD) == s3_conf(PLACE, {}, {}) == {}
    assert s3_conf("hdfs://nn/a-r-1/checkpoints/r-1", {}, TOLD) == {}


def test_a_place_is_of_this_machine_or_of_a_tried_file_system() -> None:
    assert place_or_none("s3a://bucket/out/") == HadoopPath("s3a://bucket/out")
    assert place_or_none("file:///out") == Path("/out") and place_or_none("gs://there/out") is None
    assert place_or_none("hdfs://there/out") == HadoopPath("hdfs://there/out")
    assert str(HadoopPath("s3a://b/a/1").with_name(".1.crc")) == "s3a://b/a/.1.crc" and HadoopPath("s3a://b/a/1").name == "1"


@pytest.mark.parametrize(
    ("path", "default", "directory"),
    [
        ("file:///ws/out", "hdfs://nn:8020", "/ws/out"),
        ("/ws/out", "file:///", "/ws/out"),
        ("/lake/out", "hdfs://nn:8020", "hdfs://nn:8020/lake/out"),
        ("hdfs://other/out", "hdfs://nn:8020", "hdfs://other/out"),
    ],
)
def test_a_directory_of_this_machine_is_told_from_one_of_hadoops_default(path: str, default: str, directory: str) -> None:
    assert destinations.of(None, Asked(format="parquet", options={"path": path}), default) == Destination("parquet", directory)


@pytest.mark.parametrize(
    ("conf", "ours", "is_other"),
    [
        ({}, OURS, False),
        ({ENDPOINT: "127.0.0.1:9000"}, OURS, False),
        ({ENDPOINT: OTHER}, OURS, True),
        ({ENDPOINT: OTHER}, "", True),
        ({ENDPOINT: "s3.eu-west-1.amazonaws.com"}, "", False),
        ({ENDPOINT: "{env:ENDPOINT}"}, OURS, True),
        ({OF_BUCKET: OTHER}, OURS, True),
        (
            {ENDPOINT: OTHER, OF_BUCKET: "127.0.0.1:9000"},
            OURS,
            False,
        ),
    ],
)
def test_another_s3_is_told_from_the_servers(conf: dict[str, str], ours: str, is_other: bool) -> None:
    environment = {"AWS_ENDPOINT_URL": ours} if ours else {}
    assert is_other_s3("s3a://bucket/folder/a.json", conf, environment) is is_other
    assert not is_other_s3("hdfs://bucket/folder/a.json", conf, environment) and not is_other_s3("file:///a.json", conf, environment)
