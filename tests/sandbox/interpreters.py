"""Interpreters that have a Spark, as far as the making of its archive of classes sees them."""

from __future__ import annotations

from pathlib import Path


def interpreter(folder: Path, first_run: str = "") -> str:
    """An interpreter with a Spark, whose first run is `first_run`."""
    (folder / "pyspark" / "jars").mkdir(parents=True)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\ncase "$2" in *find_spec*) echo "{folder}/pyspark/__init__.py" ;; *) {first_run or ":"} ;; esac\n')
    python.chmod(0o755)
    return str(python)


def keeping(content: str) -> str:
    """A first run whose Java keeps `content` as its classes."""
    return f'made="${{SPARK_SUBMIT_OPTS#*ArchiveClassesAtExit=}}"; printf "{content}" > "${{made%%\\"*}}"'
