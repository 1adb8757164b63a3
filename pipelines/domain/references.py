"""References to secrets in arguments and confs: `{env:NAME}` is a variable of the server's environment, `{file:/path}` what is in a file.

They are kept as they are wherever a version, a run or a savepoint is; the process that runs the job's code puts the values in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from pipelines.domain.errors import Invalid, Unavailable
from pipelines.domain.masters import MASTER, is_afar, refuse_afar

MISSING, UNREADABLE = "secret.missing", "secret.unreadable"
LONGEST = 65_536
"""Bytes of a value."""
Read = Callable[[str], bytes]
"""At most `LONGEST` + 1 bytes of the file at a path; raises OSError."""
REDACTION = "spark.redaction.regex"
HADOOP = "spark.hadoop."
EARLY = (MASTER, REDACTION, "spark.submit.", "spark.driver.", "spark.jars", "spark.files", "spark.archives", "spark.pyspark.",
         "spark.app.", "spark.eventLog.", "spark.yarn.", "spark.plugins", "spark.hadoop.fs.defaultFS")  # fmt: skip
"""Beginnings of confs that Spark's launcher or Tidemark reads before the JVM with the values is there."""
_REFERENCE = re.compile(r"\{(env|file):([^{}]*)\}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")


def within(text: str) -> bool:
    """Whether there is a reference in `text`."""
    return _REFERENCE.search(text) is not None


def without(text: str) -> str:
    """`text` without its references: what of it is a literal."""
    return _REFERENCE.sub("", text)


def referring(conf: Mapping[str, str]) -> dict[str, str]:
    """The confs in which there is a reference."""
    return {name: value for name, value in conf.items() if within(value)}


def check(master: str, args: Sequence[str], conf: Mapping[str, str], *, is_sql: bool = False) -> None:
    """Raises Invalid (`secret.reference`, `secret.conf`, `secret.sql`), and Unsupported (`master.cluster_mode`) where the job's
    code runs elsewhere."""
    referred = referring(conf)
    kept = [text for text in (*args, *referred.values()) if within(text)]
    for kind, name in _references(kept):
        is_whole = _VARIABLE.fullmatch(name) if kind == "env" else name.startswith("/") and "\0" not in name
        if not is_whole:
            raise Invalid("secret.reference", f"{{{kind}:{name}}} is no reference to a secret", "Write {env:NAME} or {file:/whole/path}.")
    early = next((name for name in referred if name.startswith(EARLY)), "")
    if early:
        message = f"The conf {early} is needed before a secret can be put in without standing on a command line"
        raise Invalid("secret.conf", message, "Let the job's code read the secret: give the reference as an argument.")
    if is_sql and any(map(within, args)):
        message = "The arguments of a SQL file become part of its statements, which Spark's pages and logs show"
        raise Invalid("secret.sql", message, "Give the reference in a conf, which Spark reads itself, or use a Python script.")
    if kept and is_afar(master, conf):
        raise refuse_afar("no secret of this one is put in there", "Let the job's code read it from where the cluster keeps its secrets.")


def resolved(text: str, environment: Mapping[str, str], read: Read) -> str:
    """`text` with values for its references; raises Unavailable (`secret.missing`, `secret.unreadable`), which says none of the value."""
    return _REFERENCE.sub(lambda match: _value(match[1], match[2], environment, read), text)


def values(texts: Iterable[str], environment: Mapping[str, str], read: Read) -> Iterator[str]:
    """The value of each reference in `texts`; raises what `resolved` does."""
    return (_value(kind, name, environment, read) for kind, name in dict.fromkeys(_references(texts)))


def by_value(texts: Iterable[str], environment: Mapping[str, str], read: Read) -> dict[str, str]:
    """Each value that `texts` refer to, with its reference; raises what `resolved` does."""
    return {_value(kind, name, environment, read): f"{{{kind}:{name}}}" for kind, name in _references(texts)}


def redaction(conf: Mapping[str, str], default: str) -> dict[str, str]:
    """The conf with which Spark's event log, pages and plans hide the values of confs that refer to secrets, whatever they are called."""
    names = [re.escape(name.removeprefix(HADOOP)) for name in sorted(referring(conf))]
    return {REDACTION: "|".join((f"(?:{conf.get(REDACTION, default)})", *names))} if names else {}


def _references(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    return ((match[1], match[2]) for text in texts for match in _REFERENCE.finditer(text))


def _value(kind: str, name: str, environment: Mapping[str, str], read: Read) -> str:
    if kind == "env":
        return _given(environment.get(name, ""), f"The variable {name}", f"Set {name} where the server starts, and start it again; with "
                      "--run-as name it in TIDEMARK_RUN_AS_PASSES, too.")  # fmt: skip
    try:
        text = read(name).decode().strip()
    except FileNotFoundError as error:
        raise Unavailable(MISSING, f"There is no file {name}, which a secret is in", "Write the secret into it.") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        hint = "It has to be a file of text that the user who runs the job's code may read."
        raise Unavailable(UNREADABLE, f"The secret in {name} cannot be read: {reason}", hint) from error
    return _given(text, f"The file {name}", "Write the secret into it.")


def _given(value: str, place: str, hint: str) -> str:
    if not value:
        raise Unavailable(MISSING, f"{place}, which a secret is in, is not there or empty", hint)
    if len(value.encode(errors="replace")) > LONGEST:
        raise Unavailable(UNREADABLE, f"{place} is longer than the {LONGEST} bytes of a secret", "Have it hold the secret alone.")
    return value
