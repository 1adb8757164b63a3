"""The jars that a job's confs name."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.domain.placeholders import CODE

SPARK_JARS, CLASS_PATH, PACKAGES = "spark.jars", "spark.driver.extraClassPath", "spark.jars.packages"
"""The confs that name jars: files, a path with them, and what Spark fetches."""


def package_jars(conf: Mapping[str, str]) -> tuple[str, ...]:
    """The file names of what the conf `spark.jars.packages` has Spark fetch."""
    parts = (package.strip().split(":") for package in conf.get(PACKAGES, "").split(","))
    return tuple(f"{part[1]}-{part[2]}.jar" for part in parts if len(part) == 3)


def conf_files(conf: Mapping[str, str]) -> tuple[str, ...]:
    """The paths by which the confs name jars on this machine: none of another file system, or in the folder of a version's code."""
    named = (*conf.get(SPARK_JARS, "").split(","), *conf.get(CLASS_PATH, "").split(":"))
    paths = (place.strip().removeprefix("file://").removeprefix("file:") for place in named)
    return tuple(path for path in paths if path and "://" not in path and CODE not in path)
