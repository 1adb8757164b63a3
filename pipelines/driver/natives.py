"""Calls in a script's code of packages that read files, or ask databases, by themselves: in C or Rust, where Python hears of none that is
opened. What its sinks alone call is none of them: a sink's function connects to a database for each batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pipelines.driver import sink_code

PACKAGES = {"pyarrow", "polars", "duckdb", "h5py", "netCDF4", "tables", "cv2", "rasterio", "fiona", "pyogrio", "geopandas"}
PACKAGES |= {"lightgbm", "xgboost", "catboost", "onnxruntime", "tensorflow", "deltalake", "lance"}
PACKAGES |= {"maxminddb", "geoip2", "tokenizers", "safetensors", "fasttext", "faiss", "datatable", "daft", "osgeo", "ibis"}
READS = re.compile(
    r"(read|scan|open|load)(_\w+)?|imread|memory_map|dataset|sql|query|from_(uri|file)|safe_open|Open|fread|Reader"
    r"|\w*(File|Dataset|FileSystem|Table|Booster|InferenceSession)"
)
DATABASES = {"duckdb", "psycopg", "psycopg2", "pyodbc", "oracledb", "cx_Oracle", "MySQLdb", "pymssql", "ibm_db", "sqlalchemy", "turbodbc"}
DATABASES |= {"confluent_kafka", "grpc", "pymqi", "rocksdict", "plyvel", "lmdb"}
CONNECTS = re.compile(
    r"connect(_async)?|create_(async_)?engine|\w*[cC]onnection(_?[pP]ool)?|(in)?secure_channel|\w*(Consumer|Client)|open|DB|Rdict"
)
OF_PANDAS = {"pandas.read_hdf", "pandas.read_parquet", "pandas.read_orc", "pandas.read_feather"}
"""What reads through other packages, a folder of files, say; all else of pandas opens in Python."""


def of(version: Path) -> Iterator[str]:
    """The functions that the code in the folder `version` calls, by their whole names: `pyarrow.parquet.read_table`."""
    trees = []
    for path in sorted(version.rglob("*.py")):
        with suppress(SyntaxError, ValueError):  # nothing imports it then
            trees.append((path, ast.parse(path.read_bytes())))
    found = [(node, name) for _, tree in trees for node, name in _reads(tree)]
    if found:
        of_sinks = sink_code.calls(trees)
        yield from (name for node, name in found if node not in of_sinks)


def _reads(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    names = dict(_imported(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            head, _, rest = sink_code.dotted(node.func).partition(".")
            name = ".".join(filter(None, (names.get(head, ""), rest)))
            if head in names and _is_unheard(name):
                yield node, name


def _is_unheard(name: str) -> bool:
    package, function = _top(name), name.rpartition(".")[2]
    reads = package in PACKAGES and READS.fullmatch(function)
    return name in OF_PANDAS or bool(reads or (package in DATABASES and CONNECTS.fullmatch(function)))


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What the module calls something -> what that is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.asname or _top(alias.name), alias.name if alias.asname else _top(alias.name)) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def _top(name: str) -> str:
    return name.partition(".")[0]
