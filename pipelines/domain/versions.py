"""A version: frozen code, arguments, Spark confs and runtime; its id comes from its content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.domain.bounds import Moment
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
    created_ms: Moment = 0


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
    """Options with their values (`--out {output}`, `--fast`); an option alone has an empty one. A repeated name gets a number."""
    values: dict[str, str] = {}
    rest = list(args)
    while rest:
        name = rest.pop(0)
        value = rest.pop(0) if name.startswith("-") and rest and not rest[0].startswith("-") else ""
        values[name if name not in values else f"{name} ({len(values) + 1})"] = value
    return values
