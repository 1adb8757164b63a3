"""A version: frozen code, arguments, Spark confs and runtime; its id comes from its content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.domain.ids import VersionId, content_id


@dataclass(frozen=True)
class Version:
    """What a run executes. `args` may hold `{output}`, which becomes the job's own output directory when a run starts."""

    id: VersionId
    script: str
    """File name of the script (`post_engagement.py`), no folder."""
    code: str
    args: tuple[str, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)
    master: str = "local[2]"
    python: str = ""
    """Interpreter whose PySpark runs it; empty means Tidemark's own."""
    source: str = ""
    """Where the script came from, for people; not part of the identity."""
    created_ms: int = 0


def version(
    script: str,
    code: str,
    *,
    args: tuple[str, ...] = (),
    conf: Mapping[str, str] | None = None,
    master: str = "local[2]",
    python: str = "",
    source: str = "",
    created_ms: int = 0,
) -> Version:
    """A version with the id that its content gives it."""
    conf = dict(conf or {})
    content = {"script": script, "code": code, "args": list(args), "conf": conf, "master": master, "python": python}
    return Version(VersionId(content_id("v", content)), script, code, args, conf, master, python, source, created_ms)


def options(args: Sequence[str]) -> dict[str, str]:
    """Options with their values (`--out {output}`, `--fast`); what stands alone has none. A name that comes again gets its place."""
    said: dict[str, str] = {}
    rest = list(args)
    while rest:
        one = rest.pop(0)
        value = rest.pop(0) if one.startswith("-") and rest and not rest[0].startswith("-") else ""
        said[one if one not in said else f"{one} ({len(said) + 1})"] = value
    return said
