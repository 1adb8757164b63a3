"""The confs that give a job a warehouse and a metastore of its own, where nobody says where its tables are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from pipelines.domain import hadoop_conf
from pipelines.domain.run_specs import RunSpec
from pipelines.driver.warehouse import CONF, METASTORE, TABLES

DERBY = "spark.hadoop.javax.jdo.option.ConnectionURL"
PLACES = (CONF, "hive.metastore.warehouse.dir", "hive.metastore.uris", "javax.jdo.option.ConnectionURL")
"""Ends of the confs that say where tables are; whoever says one of them has a catalog of his own."""
HIVE_SITE = "hive-site.xml"
DEFAULTS = "spark-defaults.conf"


def catalog_conf(spec: RunSpec, environment: Mapping[str, str]) -> dict[str, str]:
    """The job's own warehouse and metastore; nothing where a conf of the version or a file of this machine says where tables are."""
    if not spec.warehouse or _says_places(spec.conf) or any(map(_configures, configurations(environment))):
        return {}
    default = hadoop_conf.default_fs(spec.conf, environment, _read)
    return {
        CONF: hadoop_conf.located(f"{spec.warehouse}/{TABLES}", default),
        DERBY: f"jdbc:derby:;databaseName={spec.warehouse}/{METASTORE};create=true",
    }


def spark_home(environment: Mapping[str, str]) -> str:
    """SPARK_HOME, or where the PySpark is that is installed here; empty for none."""
    installed = find_spec("pyspark")
    return environment.get("SPARK_HOME") or (os.path.dirname(installed.origin) if installed and installed.origin else "")


def _read(path: str) -> bytes | None:
    return Path(path).read_bytes() if os.path.isfile(path) else None


def _says_places(keys: Iterable[str]) -> bool:
    return any(key.endswith(PLACES) for key in keys)


def _configures(folder: Path) -> bool:
    """Whether the files of a configuration folder say where tables are."""
    defaults = folder / DEFAULTS
    lines = defaults.read_text().splitlines() if defaults.is_file() else []
    return (folder / HIVE_SITE).is_file() or _says_places(line.replace("=", " ").split()[0] for line in lines if line.strip())


def configurations(environment: Mapping[str, str]) -> Iterator[Path]:
    """The folders that Spark's launcher puts before its jars."""
    home = spark_home(environment)
    spark = environment.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else "")
    yield from (Path(folder) for folder in (spark, environment.get("HADOOP_CONF_DIR"), environment.get("YARN_CONF_DIR")) if folder)
