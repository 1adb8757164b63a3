"""Names and ids: what they look like, and how content makes them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NewType

from pipelines.domain.errors import Invalid
from pipelines.domain.texts import without_control

JobName = NewType("JobName", str)
QueryName = NewType("QueryName", str)
VersionId = NewType("VersionId", str)
RunId = NewType("RunId", str)
SavepointId = NewType("SavepointId", str)
ExperimentId = NewType("ExperimentId", str)
ReplayId = NewType("ReplayId", str)
BisectionId = NewType("BisectionId", str)
BackupId = NewType("BackupId", str)
OperationId = NewType("OperationId", str)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
LONGEST_QUERY_NAME = 200
_ID = re.compile(r"(sp|v|r)-[0-9a-f]{12}")
"""What ids look like that are named where jobs are, too."""


def job_name(text: str) -> JobName:
    """`text` as a job's name; raises Invalid where it could not be a folder's name everywhere, or looks like an id."""
    if _ID.fullmatch(text):
        raise Invalid("job.name", f"{text!r} is an id, not a job name", "Choose another name: nobody could tell them apart.")
    if not _NAME.fullmatch(text):
        raise Invalid(
            "job.name",
            f"{text!r} is not a job name",
            "Use letters from a to z, digits, '_', '-' and '.', at most 100, beginning with a letter or digit.",
        )
    return JobName(text)


def query_name(text: str) -> QueryName:
    """`text` as a query's name: as it was given, in any script, each control character as '_'."""
    return QueryName(without_control(text) or "query")


def given_query_name(text: str) -> QueryName:
    """`text` as the name that somebody gives a query, as its script has it; raises Invalid (`query.name`) for what is a slip of the hand,
    or too long for the name of a folder."""
    hint = "Give it the queryName of its script, letter by letter."
    if not text.strip():
        raise Invalid("query.name", "No name was given", hint)
    if text != text.strip():
        raise Invalid("query.name", f"{text[:LONGEST_QUERY_NAME]!r} begins or ends with a blank", hint)
    if len(text) > LONGEST_QUERY_NAME:
        raise Invalid(
            "query.name", f"The name has {len(text):,} characters, and no folder is called so", f"Use at most {LONGEST_QUERY_NAME}."
        )
    return QueryName(text)


def plain_name(text: str) -> str:
    """What of `text` every path and URL can carry, the rest as '_'. Jobs that began before names had folders call their queries so."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", text).lstrip(".") or "query"


def folder_of(query: str) -> str:
    """The name of a query's folders and files: its own name, or what of it every path can carry with a part of its hash."""
    plain = plain_name(query)
    return plain if plain == query else f"{plain[:80]}-{hashlib.sha256(query.encode(errors='surrogatepass')).hexdigest()[:8]}"


def query_of(checkpoint: str) -> QueryName:
    """A name for the query of which nothing but the checkpoint's path or URL is known: that of its folder."""
    return query_name(checkpoint.rstrip("/").rpartition("/")[2])


def content_id(prefix: str, content: Mapping[str, Any]) -> str:
    """`prefix-` and twelve hex digits of the SHA-256 of `content` as canonical JSON."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"{prefix}-{hashlib.sha256(canonical.encode()).hexdigest()[:12]}"


def random_id(prefix: str, entropy: bytes) -> str:
    """`prefix-` and the hex of `entropy` (six bytes by convention), which the caller draws."""
    return f"{prefix}-{entropy.hex()}"
