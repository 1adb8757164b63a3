"""What a script sets on Hadoop's own configuration is told, and gone before the next script."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.driver.planning import hadoop_conf


@pytest.mark.spark
def test_confs_of_hadoop_that_a_script_has_set_are_told_and_taken_back(spark: Any) -> None:
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop_conf.note()
    assert hadoop_conf.changed() == {}
    before = conf.get("fs.s3a.endpoint.region"), conf.get("mapreduce.job.maps")
    conf.set("fs.s3a.endpoint", "http://elsewhere")
    conf.set("mapreduce.job.maps", "7")
    assert hadoop_conf.changed() == {"fs.s3a.endpoint": "http://elsewhere", "mapreduce.job.maps": "7"}
    hadoop_conf.note()
    hadoop_conf.take_back()
    assert hadoop_conf.changed() == {} and (conf.get("fs.s3a.endpoint.region"), conf.get("mapreduce.job.maps")) == before
