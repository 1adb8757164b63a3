"""The parameters of a command: typer's options and arguments, made from the fields of a declaration."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Mapping
from copy import copy
from dataclasses import MISSING, Field
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import typer

from pipelines.cli import words
from pipelines.cli.additions import Addition, Parameter
from pipelines.verbs.declaration import default_of, hints, parts
from pipelines.verbs.reads import Reads
from pipelines.verbs.verb import Asked, Change, Shell, Spelling, spelling

LISTED = (Reads.FILES, Reads.PAIRS, Reads.KEY, Reads.SINKS, Reads.BATCHES)
PATHS = (Reads.FILE, Reads.SCRIPT)
READ_FROM_TEXT = (Reads.MOMENT, Reads.LAST_DAY, Reads.DURATION, Reads.SIZE, Reads.FUNCTION)
EMPTY = inspect.Parameter.empty


def of_declaration(kind: type[Asked[Any]], addition: Addition, without: tuple[str, ...] = ()) -> list[inspect.Parameter]:
    """The parameters of a command: arguments, then required options, then optional ones, then those of every command."""
    types = hints(kind)
    fields = [part for part in parts(kind) if spelling(part).shell is not Shell.ABSENT and part.name not in without]
    parameters = [_of_field(part, types[part.name], addition) for part in fields]
    parameters += [_made(name, added) for name, added in addition.parameters.items()]
    if issubclass(kind, Change):
        parameters.append(_annotated("dry_run", words.DryRun, False))
    return [*sorted(parameters, key=_rank), *common()]


def common() -> list[inspect.Parameter]:
    """The parameters that every command has."""
    return [_annotated("workspace", words.Workspace, None), _annotated("as_json", words.AsJson, False)]


def signature(parameters: list[inspect.Parameter]) -> inspect.Signature:
    """The signature that typer reads a command by; its help shows what is typed for an option, where typer would show Python's type."""
    return inspect.Signature([_annotated("ctx", typer.Context, EMPTY), *map(_shaped, parameters)])


def _shaped(parameter: inspect.Parameter) -> inspect.Parameter:
    """With what is typed for it, where the option has a value and does not say that itself."""
    hint, info = get_args(parameter.annotation)[:2]
    kinds = [kind for kind in get_args(hint) or (hint,) if kind is not NoneType]
    if not isinstance(info, typer.models.OptionInfo) or info.metavar or bool in kinds:
        return parameter
    named = copy(info)
    named.metavar = _shape(parameter.name, kinds[0])
    return parameter.replace(annotation=Annotated[hint, named])


def _shape(name: str, kind: Any) -> str:
    """`N` for a number, `FILE` for a path, `a|b` for one of several words, else the option's name."""
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return "|".join(str(member.value) for member in kind)
    return {int: "N", float: "N", Path: "FILE"}.get(kind, name.upper())


def flag_of(part: Field[Any]) -> str:
    """`--event-time`."""
    return spelling(part).flag or f"--{part.name.replace('_', '-')}"


def _rank(parameter: inspect.Parameter) -> tuple[bool, bool]:
    is_argument = isinstance(parameter.annotation.__metadata__[0], typer.models.ArgumentInfo)
    return not is_argument, not is_argument and parameter.default is not EMPTY


def _of_field(part: Field[Any], hint: Any, addition: Addition) -> inspect.Parameter:
    spelt = spelling(part)
    default = _default(part, addition)
    info = _argument(part.name, spelt) if spelt.shell is Shell.ARGUMENT else _option(part, hint, default)
    return _made(part.name, Parameter(_type(hint, spelt), info, default))


def _made(name: str, added: Parameter) -> inspect.Parameter:
    kind = added.kind | None if added.default is None else added.kind
    return _annotated(name, Annotated[kind, added.info], added.default)


def _annotated(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _argument(name: str, spelt: Spelling) -> Any:
    return typer.Argument(metavar=spelt.metavar or name.upper(), help=spelt.help, show_default=False, **_file(spelt))


def _option(part: Field[Any], hint: Any, default: Any) -> Any:
    spelt = spelling(part)
    bounds: dict[str, Any] = (
        {"min": spelt.least, "max": spelt.most} if int in (hint, *get_args(hint)) and spelt.reads not in (*LISTED, *READ_FROM_TEXT) else {}
    )
    shown = default not in (None, "", EMPTY)
    return typer.Option(flag_of(part), metavar=spelt.metavar or None, help=spelt.help, show_default=shown, **bounds, **_file(spelt))


def _file(spelt: Spelling) -> Mapping[str, Any]:
    return {"parser": words.file_or_folder if spelt.reads is Reads.SCRIPT else words.file} if spelt.reads in PATHS else {}


def _type(hint: Any, spelt: Spelling) -> Any:
    """The type of the typed value, before it is read."""
    if spelt.reads in PATHS:
        return Path
    if spelt.reads in READ_FROM_TEXT:
        return str
    kind = next(inner for inner in (get_args(hint) or (hint,)) if inner is not NoneType) if _is_optional(hint) else hint
    if spelt.reads in LISTED or get_origin(kind) is tuple:
        return list[str]
    return kind


def _is_optional(hint: Any) -> bool:
    return NoneType in get_args(hint)


def _default(part: Field[Any], addition: Addition) -> Any:
    """Typer's default: None for a field that is then not given at all."""
    if part.name in addition.filled:
        return None
    value = addition.defaults.get(part.name, default_of(part))
    if value is MISSING:
        return EMPTY
    return value if isinstance(value, str | int | float | enum.Enum) and value != "" else None
