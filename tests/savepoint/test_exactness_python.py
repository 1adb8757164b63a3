"""State and sources that are written in Python: exact as `test_exactness_matrix.py` says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.savepoint import queries_python
from tests.savepoint.matrix import CHANGELOG, FORMAT_2, HDFS, Line
from tests.savepoint.matrix_run import References, assert_exact

pytestmark = pytest.mark.spark

AVRO = {"spark.sql.streaming.stateStore.encodingFormat": "avro"}
LINES = {
    "state in pandas, hdfs": Line(queries_python.state_in_pandas, HDFS),
    "state variables, format2, avro": Line(queries_python.state_variables, FORMAT_2 | AVRO),
    "state variables in pandas, changelog": Line(queries_python.state_variables_in_pandas, CHANGELOG),
    "state variables with TTL, format2": Line(queries_python.state_variables_for_a_day, FORMAT_2, last=5),
    "Python data source": Line(queries_python.data_source, FORMAT_2, inputs=(), last=5),
    "simple Python data source": Line(queries_python.simple_data_source, HDFS, inputs=(), last=5),
}


@pytest.fixture(scope="module")
def references() -> References:
    return {}


@pytest.mark.parametrize("name", LINES)
def test_forks_and_the_original_equal_the_uninterrupted_run(spark: Any, tmp_path: Path, references: References, name: str) -> None:
    assert_exact(spark, tmp_path, LINES[name], references)
