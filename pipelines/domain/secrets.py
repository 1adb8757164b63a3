"""Values of confs and arguments that may be secrets, by Spark's own rule: never shown. What is shown instead may be sent back, and means
them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from pipelines.domain.errors import Invalid
from pipelines.domain.references import within, without

V = TypeVar("V")
MASK = "*********(redacted)"
"""What Spark shows (`Utils.REDACTION_REPLACEMENT_TEXT`)."""
ERRORS = "surrogatepass"
"""Texts of the environment and of Java need not be Unicode."""
LEAST_BYTES = 6
"""A value that is shorter is not looked for in texts: it stands there by chance."""
KEPT = (
    "the value of {names} will stand in the workspace's files, in savepoints and in exports: give {{env:NAME}} or {{file:/path}} in its "
    "place, and only that is kept"
)
SECRET = re.compile(r"(?i)secret|password|token|access[.]?key")
"""The default of `spark.redaction.regex`. As in Spark, a value is a secret where its name or the value itself has one of these words."""
PASSWORD = re.compile(r"(://[^/@:\s]*:)[^/@\s]+@")
"""`user:password@` of an address."""


def shown(name: str, value: V) -> V | str:
    """The value of a conf as it may be shown; what is no text is none."""
    return MASK if isinstance(value, str) and _is_secret(name, value) else value


def _is_secret(name: str, value: str) -> bool:
    literal = without(value)
    return bool(SECRET.search(literal) or (SECRET.search(name) and (literal or not value)))


def literals(conf: Mapping[str, str]) -> tuple[str, ...]:
    """What somebody should know who gives secrets themselves, and no references to them."""
    names = ", ".join(name for name, value in sorted(conf.items()) if SECRET.search(name) and _is_secret(name, value) and _is_long(value))
    return (KEPT.format(names=names),) if names else ()


def _is_long(value: str) -> bool:
    return len(value.encode()) >= LEAST_BYTES


def masked(conf: Mapping[str, str]) -> dict[str, str]:
    """Confs as they may be shown."""
    return {name: shown(name, value) for name, value in conf.items()}


def values(conf: Mapping[str, str]) -> tuple[bytes, ...]:
    """The secret values of `conf` as they may stand in a text, the longest first; a short one, such as `true`, is no secret there."""
    kept = {value.encode() for name, value in conf.items() if shown(name, value) == MASK and value != MASK}
    return tuple(sorted((value for value in kept if len(value) >= LEAST_BYTES), key=lambda value: (-len(value), value)))


def masked_args(args: Sequence[str]) -> tuple[str, ...]:
    """Arguments as they may be shown: without the value of an option that has one of these words (`--password X`, `--password=X`,
    `api_token=X`), and without the password of an address (`https://user:X@host`)."""
    named = ("", *args)
    return tuple(_masked_arg(before, argument) for before, argument in zip(named, args, strict=False))


def _masked_arg(before: str, argument: str) -> str:
    if within(argument) and not without(argument):
        return argument
    name, is_given, value = argument.partition("=")
    if is_given and SECRET.search(name) and "://" not in name and (without(value) or not value):
        return f"{name}={MASK}"
    if before.startswith("-") and "=" not in before and SECRET.search(before) and not argument.startswith("--"):
        return MASK
    return without_passwords(argument)


def without_passwords(text: str) -> str:
    """A text whose addresses show no password: an error of a client quotes those that its environment names."""
    return PASSWORD.sub(rf"\g<1>{MASK}@", text)


def given(option: str, value: V) -> V | str:
    """The value of an option, or (without one) an argument, as it may be shown; what is no text is none."""
    return masked_args((option, value))[1] if isinstance(value, str) else value


def args_values(args: Sequence[str]) -> tuple[bytes, ...]:
    """The secret values of `args` as they may stand in a text, the longest first."""
    kept = {value.encode() for pair in zip(args, masked_args(args), strict=True) for value in _hidden(*pair) if value != MASK}
    return tuple(sorted((value for value in kept if len(value) >= LEAST_BYTES), key=lambda value: (-len(value), value)))


def _hidden(argument: str, shown_as: str) -> Iterator[str]:
    """What stands in the places of an argument that are masked: one may have several, as a list of addresses has."""
    first, *rest = shown_as.split(MASK)
    at = len(first)
    for after in rest:
        end = argument.index(after, at) if after else len(argument)
        yield argument[at:end]
        at = end + len(after)


def hidden(conf: Mapping[str, str], args: Sequence[str], referred: Iterable[str]) -> tuple[bytes, ...]:
    """What must not be shown of what code says that has these confs and arguments, the longest first: their literal secrets, and
    `referred`, the values that they refer to."""
    long = (value for text in referred if len(value := text.encode(errors=ERRORS)) >= LEAST_BYTES)
    return tuple(sorted({*values(conf), *args_values(args), *long}, key=lambda value: (-len(value), value)))


def unmasked_args(args: Sequence[str], before: Sequence[str]) -> tuple[str, ...]:
    """Arguments that somebody sends back: what was shown in place of a secret is its value in `before`, of the same option and in the same
    order; Invalid (`args.masked`) where that has none."""
    kept = [(place, value) for place, value in zip(_placed(masked_args(before)), before, strict=True) if MASK in place[1]]
    meant = []
    for place in _placed(args):
        fits = next((pair for pair in kept if pair[0] == place), None)
        if MASK in place[1] and fits is None:
            raise Invalid("args.masked", f"An argument is only what is shown in its place: {' '.join(place)}", "Give the value itself.")
        if fits is not None:
            kept.remove(fits)
        meant.append(fits[1] if fits is not None else place[1])
    return tuple(meant)


def _placed(args: Sequence[str]) -> list[tuple[str, str]]:
    """Each argument; one that is only the mask with the option before it, which says what it is."""
    return [(before if argument == MASK else "", argument) for before, argument in zip(("", *args), args, strict=False)]


def starred(data: bytes, secret: Sequence[bytes]) -> bytes:
    """`data` with as many asterisks in place of each secret value: every other byte keeps its place. Those that overlap are all found, so
    that any two cuts of one text agree."""
    if not secret:
        return data
    covered = bytearray(data)
    for value in secret:
        at = data.find(value)
        while at >= 0:
            covered[at : at + len(value)] = b"*" * len(value)
            at = data.find(value, at + 1)
    return bytes(covered)


def starred_text(text: str, secret: Sequence[bytes]) -> str:
    """The same of a text."""
    return starred(text.encode(errors=ERRORS), secret).decode(errors=ERRORS)


class Hidden:
    """What a process must not show of what the code in it says."""

    def __init__(self) -> None:
        self._values: tuple[bytes, ...] = ()

    def hide(self, values: Sequence[bytes]) -> None:
        """From now on these are in no text, and what was hidden before is in none either."""
        self._values = (*self._values, *values)

    def shown(self, text: str) -> str:
        """`text` as it may be shown; to be asked before it is cut, which may leave a part of a secret."""
        return starred_text(text, self._values)


def unmasked(conf: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    """Confs that somebody sends back: what was shown in place of a secret is its value in `before`; Invalid (`conf.masked`) where that has
    none."""
    for name, value in conf.items():
        if value == MASK and name not in before:
            raise Invalid("conf.masked", f"The value of {name} is only what is shown in its place", "Give the value itself.")
    return {name: before[name] if value == MASK else value for name, value in conf.items()}


def without_credentials(place: str) -> str:
    """A place that may be kept and shown: of a URL neither user and password nor query, where signatures stand."""
    scheme, is_url, rest = place.partition("://")
    if not is_url:
        return place
    host, slash, path = rest.partition("?")[0].partition("#")[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
