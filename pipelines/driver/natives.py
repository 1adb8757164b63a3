"""Calls in a script's code of packages that read files by themselves, in C or Rust, where Python hears of none that is opened.

A connection to a database (`duckdb.connect`) is none of them: a sink's function makes one for each batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PACKAGES = {"pyarrow", "polars", "duckdb", "h5py", "netCDF4", "tables", "cv2", "rasterio", "fiona", "pyogrio", "geopandas"}
PACKAGES |= {"lightgbm", "xgboost", "catboost", "onnxruntime", "tensorflow", "deltalake", "lance"}
READS = re.compile(
    r"(read|scan|open|load)(_\w+)?|imread|memory_map|dataset|sql|query|from_uri"
    r"|\w*(File|Dataset|FileSystem|Table|Booster|InferenceSession)"
)
HDF = "pandas.read_hdf"
"""What reads through the package `tables`; all else of pandas opens in Python."""


def of(version: Path) -> Iterator[str]:
    """The functions that the code in the folder `version` calls, by their whole names: `pyarrow.parquet.read_table`."""
    for path in sorted(version.rglob("*.py")):
        with suppress(SyntaxError, ValueError):  # nothing imports it then
            yield from _of_module(ast.parse(path.read_bytes()))


def _of_module(tree: ast.Module) -> Iterator[str]:
    names = dict(_imported(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            head, _, rest = ast.unparse(node.func).partition(".")
            name = ".".join(filter(None, (names.get(head, ""), rest)))
            if head in names and (name == HDF or (_top(name) in PACKAGES and READS.fullmatch(name.rpartition(".")[2]))):
                yield name


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What the module calls something -> what that is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.asname or _top(alias.name), alias.name if alias.asname else _top(alias.name)) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def _top(name: str) -> str:
    return name.partition(".")[0]
