"""The tables of `pipelines/README.md` as they are now: `python -m tests.contracts.documents --write` puts them there.

A block begins with `<!-- name -->` and ends with `<!-- /name -->`. Commands and calls come from the declarations; those that are written by
hand from the command line and the REST server themselves.
"""

from __future__ import annotations

import ast
import configparser
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeVar, get_args, get_origin

from typer.models import ArgumentInfo

from pipelines import verbs
from pipelines.api import metrics, server, stream
from pipelines.cli import additions, commands
from pipelines.domain.alert_rules import GROWING, GROWTH
from pipelines.domain.errors import Invalid, TidemarkError
from pipelines.verbs.declaration import summary
from pipelines.verbs.verb import Asked
from pipelines.words.figures import OF_ALERTS
from tests.contracts import tables

B = TypeVar("B")
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "pipelines" / "README.md"
COMMON = {"ctx", "workspace", "as_json", "dry_run"}
"""Parameters that the page describes once."""


def blocks() -> dict[str, str]:
    """Name -> Markdown of each block."""
    declared = [call for kind in verbs.every() for call in tables.calls_of(kind)]
    return {
        "commands": tables.commands(_command(word, function) for word, function in commands.every()),
        "calls": tables.calls([*declared, *_calls_by_hand()]),
        "roles": tables.roles(verbs.every()),
        "refusals": tables.refusals(verbs.every()),
        "metrics": _metrics(),
        "floors": _floors(),
    }


def block_of(page: str, name: str) -> str:
    """What stands between the two marks of a block; empty where there is none."""
    match = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", page, re.DOTALL)
    return match[1].strip("\n") if match else ""


def write() -> None:
    """Puts every block into the page."""
    page = PAGE.read_text()
    for name, block in blocks().items():
        before, _, rest = page.partition(f"<!-- {name} -->\n")
        page = f"{before}<!-- {name} -->\n\n{block}\n\n<!-- /{name} -->{rest.partition(f'<!-- /{name} -->')[2]}"
    PAGE.write_text(page)


def _metrics() -> str:
    rows = [f"| `{metric.name}` | {_code(metric.figure)} | {metric.labels or '–'} | {metric.says} |" for metric in metrics.documented()]
    alone = [f"| – | {_code(figure.name)} | – | {figure.says} |" for figure in OF_ALERTS]
    growth = f"By how much it is more than it was so long ago: of {', '.join(f'`{name}`' for name in GROWING)}"
    alone.append(f"| – | {_code(f'{GROWTH}FIGURE in TIME')} | – | {growth} |")
    return "\n".join(["| metric | in an alert | labels | what it says |", "| --- | --- | --- | --- |", *rows, *alone])


def _code(name: str) -> str:
    return f"`{name}`" if name else "–"


# commands
def _command(word: str, function: Callable[..., None]) -> tables.Command:
    kinds = kinds_of(word)
    first = summary(kinds[0]) if len(kinds) == 1 and kinds[0].command == word else (function.__doc__ or "").split(".")[0]
    refuses = {error for kind in kinds for error in kind.refuses} | _raised(word)
    return tables.Command(" ".join([word, *_usage(function)]), " ".join(first.split()), refuses)


def _usage(function: Callable[..., None]) -> Iterator[str]:
    """Each argument and option: `JOB`, `[--batch N]`, `[--conf KEY=VALUE]…`; what stands behind `--` is last."""
    parameters = [known for known in inspect.signature(function).parameters.values() if known.name not in COMMON]
    yield from sorted(map(_parameter, parameters), key=lambda shown: shown.startswith("[-- "))


def _parameter(parameter: inspect.Parameter) -> str:
    annotation, info = get_args(parameter.annotation)
    shown = _argument(info, parameter) if isinstance(info, ArgumentInfo) else _option(annotation, info, parameter)
    is_list = list in (get_origin(annotation), *map(get_origin, get_args(annotation)))
    return f"{shown}…" if is_list and not shown.startswith("[-- ") else shown


def _argument(info: Any, parameter: inspect.Parameter) -> str:
    shown = (info.metavar or parameter.name.upper()).strip("[].")
    return shown if parameter.default is inspect.Parameter.empty else f"[{shown}]"


def _option(annotation: Any, info: Any, parameter: inspect.Parameter) -> str:
    flags = [flag for flag in (info.default, *(info.param_decls or ())) if isinstance(flag, str)]
    flag = max(flags, key=len) if flags else f"--{parameter.name.replace('_', '-')}"
    if bool in (annotation, *get_args(annotation)):
        yes, _, no = flag.partition("/")
        return f"[{flag.replace('/', '|')}]" if parameter.default is None else f"[{no if parameter.default else yes}]"
    shown = f"{flag} {info.metavar}"
    return shown if parameter.default is inspect.Parameter.empty else f"[{shown}]"


@cache
def _by_word() -> Mapping[str, list[type[Asked[Any]]]]:
    declared = {kind.command: [kind] for kind in verbs.every() if kind.command}
    aliases = {alias.word: [alias.kind] for alias in additions.ALIASES}
    by_hand = {hand.word: list(_named_in(hand.function, Asked)) for hand in additions.BY_HAND}
    return declared | aliases | by_hand


def kinds_of(word: str) -> list[type[Asked[Any]]]:
    """The declarations that a command asks or performs."""
    return _by_word()[word]


def _raised(word: str) -> set[type[TidemarkError]]:
    """The errors that only the shell knows: those that a command's own functions name."""
    written = [hand.function for hand in additions.BY_HAND if hand.word == word]
    shown = [added for kind in kinds_of(word) if (added := additions.of(kind).shows)]
    named = {error for function in (*written, *shown) for error in _named_in(function, TidemarkError)}
    return named - {TidemarkError, Invalid}


def _named_in(function: Any, base: type[B], seen: frozenset[Any] = frozenset()) -> Iterator[type[B]]:
    """The subclasses of `base` that a function names, itself or in functions of its module that it calls."""
    for name in sorted(set(_names(function.__code__))):
        value = function.__globals__.get(name)
        if isinstance(value, type) and issubclass(value, base):
            yield value
        elif isinstance(value, FunctionType) and value.__module__ == function.__module__ and value not in seen:
            yield from _named_in(value, base, seen | {function, value})


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


# calls
def _calls_by_hand() -> Iterator[tables.Call]:
    for route in (*server.router.routes, *stream.router.routes):
        known: Any = route
        for method in sorted(known.methods):
            path, status = known.path.replace(":path", ""), known.status_code or 200
            yield tables.Call(known.tags[0], method, path, status, known.name, known.summary)


# floors
def _floors() -> str:
    """The layers that the import contract holds, and what each package says of itself."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    layers = contracts["importlinter:contract:layers"]["layers"].strip().splitlines()
    packages = [(len(layers) - place, package) for place, layer in enumerate(layers) for package in layer.split(" | ")]
    rows = [f"| {floor} | `{package.replace('.', '/')}/` | {_says(package)} |" for floor, package in packages]
    return "\n".join(["| floor | package | what it is |", "| --- | --- | --- |", *rows])


def _says(package: str) -> str:
    """The docstring of a package."""
    source = ROOT / package.replace(".", "/") / "__init__.py"
    docstring = ast.get_docstring(ast.parse(source.read_text())) or ""
    assert docstring, f"{package} says what it is in its docstring"
    return " ".join(docstring.split())


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("python -m tests.contracts.documents --write")
    write()
