"""A version: frozen code with the files it needs, arguments, Spark confs and runtime; its id comes from its content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pipelines.domain import files as code_files
from pipelines.domain import masters
from pipelines.domain.bounds import Moment
from pipelines.domain.ids import VersionId, content_id
from pipelines.domain.runtimes import Runtime


@dataclass(frozen=True)
class Version:
    """What a run executes. When a run starts, `{output}` in `args` becomes the job's own output directory, `{job}` the job's name, and
    `{code}` in `args` and in values of `conf` the folder that holds the script and its files, where there are any."""

    id: VersionId
    script: str
    """File name of the script (`post_engagement.py`), no folder."""
    code: str
    args: tuple[str, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)
    master: str = masters.DEFAULT
    python: str = ""
    """Interpreter whose PySpark runs it; empty means Tidemark's own."""
    source: str = ""
    """Where the script came from, for people; not part of the identity."""
    created_ms: Moment = 0
    files: Mapping[str, str] = field(default_factory=dict)
    """Path below the script's folder -> content (`domain.files`): modules and files that the script needs."""
    outside: Mapping[str, str] = field(default_factory=dict)
    """Path -> SHA-256 in hex of files that confs or arguments name and that are too large to be carried (a packed environment, jars): no
    run begins where one is not what it was."""
    requirements: str = ""
    """What pip installs for it, as a requirements file says it; `{code}` is the folder of the script and its files. Empty: nothing."""
    pins: str = ""
    """What that has become: each package with its version, as `pip freeze` lists them. Not part of the identity: the first environment
    that is made of the requirements decides, and every later one, on any machine, gets the same."""
    java_home: str = ""
    """JAVA_HOME of the runtime; empty: a Java that fits its PySpark is looked for."""

    @property
    def runtime(self) -> Runtime:
        return Runtime(self.python, self.java_home)

    @property
    def contents(self) -> dict[str, bytes]:
        """Path -> bytes of the script and of its files; ValueError where one has none."""
        return {self.script: self.code.encode()} | {path: code_files.content(packed) for path, packed in self.files.items()}


def version(
    script: str,
    code: str,
    *,
    args: tuple[str, ...] = (),
    conf: Mapping[str, str] | None = None,
    master: str = masters.DEFAULT,
    python: str = "",
    source: str = "",
    created_ms: int = 0,
    files: Mapping[str, str] | None = None,
    outside: Mapping[str, str] | None = None,
    requirements: str = "",
    pins: str = "",
    java_home: str = "",
) -> Version:
    """A version with the id that its content gives it."""
    conf, files, outside = dict(conf or {}), dict(files or {}), dict(outside or {})
    pins = pins if requirements else ""
    stated = Version(
        VersionId(""), script, code, args, conf, master, python, source, created_ms, files, outside, requirements, pins, java_home
    )
    return replace(stated, id=true_id(stated))


def true_id(stated: Version) -> VersionId:
    """The id that the content of `stated` gives it. One without files has the id that it had before there were any."""
    whole = {name: getattr(stated, name) for name in ("script", "code", "args", "conf", "master", "python")}
    more = {name: getattr(stated, name) for name in ("files", "outside", "requirements", "java_home")}
    return VersionId(content_id("v", whole | {name: value for name, value in more.items() if value}))


def options(args: Sequence[str]) -> dict[str, str]:
    """Options with their values (`--out {output}`, `--fast`); an option alone has an empty one. A repeated name gets a number."""
    values: dict[str, str] = {}
    rest = list(args)
    while rest:
        name = rest.pop(0)
        value = rest.pop(0) if name.startswith("-") and rest and not rest[0].startswith("-") else ""
        values[name if name not in values else f"{name} ({len(values) + 1})"] = value
    return values
