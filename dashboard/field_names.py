"""What options of commands are called on pages: a hint is the same on page, command and REST, and names the option."""

from __future__ import annotations

import re
from collections.abc import Mapping

NAMES: Mapping[str, str] = {
    "--conf": "Spark confs",
    "--cpus": "Processors at most",
    "--drop": "Drop the state of …",
    "--for": "For",
    "--home": "Home",
    "--java-home": "Java",
    "--jobs": "New jobs begin there, too",
    "--map": "The state of … goes on as …",
    "--master": "Master",
    "--memory": "Memory at most",
    "--migrate": "State for changed code",
    "--new-query": "New queries",
    "--offsets": "Sources go on",
    "--over": "Judged",
    "--partitions": "Partitions of its state",
    "--probation-batches": "If it fails in its first batches",
    "--probation-limit": "Or if a figure is beyond",
    "--probation-time": "Or in its first",
    "--requirements": "Requirements",
    "--runtime": "Runtime",
    "--sql": "SQL",
    "--state": "The parent goes on with",
    "--store": "Move its state to RocksDB",
    "--untested": "Although no test of Tidemark ran there",
}
"""Option -> the label of its field, where pages have one."""
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
COMMAND = re.compile(r"`[^`]*`")


def said(text: str) -> str:
    """What the options of a text are on pages, as a sentence; empty where it names none. Those in a quoted command are the command's."""
    options = [option for option in dict.fromkeys(OPTION.findall(COMMAND.sub("", text))) if option in NAMES]
    return f"On pages {', '.join(f'{option} is “{NAMES[option]}”' for option in options)}." if options else ""
