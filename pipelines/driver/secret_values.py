"""Secrets that arguments and confs refer to: read in the process that runs the job's code, with the rights and the environment it has.

A JVM is told them when it runs already, as its system properties: on its command line everybody on the machine would read them.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from typing import Any

from pipelines.domain import references, secrets
from pipelines.domain.run_specs import RunSpec

_HIDDEN = secrets.Hidden()
_REFERRED: dict[str, str] = {}
_KEY = os.urandom(16)
"""Of this process alone: nobody else can try what a secret may be."""


def put_in(text: str) -> str:
    """`text` with the values; raises what `references.resolved` raises."""
    return references.resolved(text, os.environ, read)


def confs(conf: Mapping[str, str]) -> dict[str, str]:
    """`conf` with the values."""
    return {name: put_in(value) for name, value in conf.items()}


def hide(spec: RunSpec) -> None:
    """From now on the secrets of `spec` are in no text that is `shown`; raises what `put_in` raises."""
    _REFERRED.update(references.by_value((*spec.args, *spec.conf.values()), os.environ, read))
    _HIDDEN.hide(secrets.hidden(spec.conf, spec.args, _REFERRED))


def referred() -> dict[str, str]:
    """The secrets that are hidden, each with the reference by which it came."""
    return dict(_REFERRED)


def shown(text: str) -> str:
    """`text` as this process may say it: a message before it is shortened, which may leave a part of a secret."""
    return _HIDDEN.shown(text)


def told_apart(text: str) -> str:
    """`text` as it may be shown, where two texts with other secrets stay two."""
    plain = shown(text)
    return (
        text if plain == text else f"{plain} ({hashlib.blake2b(text.encode(errors=secrets.ERRORS), digest_size=4, key=_KEY).hexdigest()})"
    )


def tell(conf: Mapping[str, str]) -> None:
    """Has the next JVM that PySpark starts, or is given, know the values of the confs in `conf`, all of which refer to secrets."""
    from pyspark import SparkContext

    module: Any = sys.modules[SparkContext.__module__]
    launch = module.launch_gateway

    def launched(*args: Any, **kwargs: Any) -> Any:
        gateway = launch(*args, **kwargs)
        for name, value in confs(conf).items():
            gateway.jvm.java.lang.System.setProperty(name, value)
        return gateway

    module.launch_gateway = launched


def read(path: str) -> bytes:
    """A file's beginning; raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.read(descriptor, references.LONGEST + 1)
    finally:
        os.close(descriptor)
