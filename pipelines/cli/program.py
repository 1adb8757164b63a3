"""The program around the commands: its help, its exit codes, its groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from pipelines import __version__
from pipelines.cli import additions, usage
from pipelines.domain.errors import STATUS_AND_EXIT_CODES

MEANINGS = {
    "internal": "something failed that was begun, or that nobody expected",
    "invalid": "the command is wrong",
    "not_found": "what was named does not exist",
    "already_exists": "the name is taken",
    "conflict": "not in the present state",
    "incompatible": "two things do not fit together",
    "corrupt": "a file is damaged or missing",
    "unsupported": "not by this version",
    "unavailable": "something outside is away, full, or took too long",
    "unauthenticated": "the server does not know who asks",
    "forbidden": "not with this role",
    "different": "what was compared is not equal (replay)",
}
HELP = """Savepoints for Spark Structured Streaming: run jobs, take savepoints, fork them with changed code, compare.

Commands talk to the workspace's running server, or open the workspace themselves when none runs. stdout is data, stderr is
narration and errors (also with --json, which makes both JSON)."""

NEEDED = re.compile(r"\{(.+?)\}")


def _epilog() -> str:
    codes = sorted((code, group) for group, (_, code) in STATUS_AND_EXIT_CODES.items())
    lines = "\n".join(f"  {code}  {group}: {MEANINGS[group]}" for code, group in codes)
    return f"\b\nExit codes:\n  0  done\n{lines}\n  130  interrupted: what was under way was cancelled, and what it made removed"


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"tidemark {__version__}")
        raise typer.Exit()


class Program(TyperGroup):
    """The group of all commands; what is typed wrongly is said as JSON where `--json` is typed."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        with usage.told(as_json=usage.asks_for_json(args)):
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        with usage.told(as_json=usage.asks_for_json([*ctx._protected_args, *ctx.args])):
            return super().invoke(ctx)


class Command(TyperCommand):
    """A command whose help names its arguments as they are typed: `JOB`, where typer writes `{JOB}` and `JOB <str>`."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        for parameter in self.params:
            if isinstance(parameter, TyperArgument):
                parameter.display_type = lambda ctx: ""  # type: ignore[method-assign]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [NEEDED.sub(r"\1", piece).replace("...]...", "...]") for piece in super().collect_usage_pieces(ctx)]


def program(commands: Iterable[tuple[str, Callable[..., None]]]) -> typer.Typer:
    """The command line of these commands (word, function); one of two words is in the group that its first word names."""
    app = typer.Typer(
        name="pipelines",
        cls=Program,
        help=HELP,
        epilog=_epilog(),
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_tidemark)
    groups = {"": app}
    for words, function in commands:
        first, _, name = words.rpartition(" ")
        if first not in groups:
            groups[first] = typer.Typer(help=additions.GROUPS.get(first, ""), no_args_is_help=True, rich_markup_mode=None)
            app.add_typer(groups[first], name=first)
        groups[first].command(name, cls=Command)(function)
    return app


def _tidemark(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    """Holds the options of the program itself."""
