"""The text of a SQL file: what is quoted or a comment, where a statement ends, which line a place is in. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*)|(?P<block>/\*)|(?P<raw>(?<!\w)[rR](?:'[^']*'|"[^"]*"))|(?P<dollars>\$\$.*?\$\$)"""
    r"""|(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<name>`(?:[^`]|``)*`)|(?P<open>['"`])""",
    re.DOTALL,
)
_BLOCK = re.compile(r"/\*|\*/")


def blanked(code: str, filename: str) -> str:
    """The code, as long as it was: comments are spaces, the insides of quotes are underscores."""
    pieces, at = list[str](), 0
    while token := _TOKEN.search(code, at):
        end = token.end()
        if token.lastgroup == "open":
            raise error(code, filename, line_of(code, token.start()), f"this {token[0]} is not closed")
        if token.lastgroup == "block":
            end = _block_end(code, token.start(), filename)
        whole = code[token.start() : end]
        is_comment = token.lastgroup in ("comment", "block")
        hidden = re.sub(r"[^\n]", " ", whole) if is_comment else whole[0] + re.sub(r"[^\n]", "_", whole[1:-1]) + whole[-1]
        pieces += [code[at : token.start()], hidden]
        at = end
    return "".join([*pieces, code[at:]])


def spans(blank: str) -> Iterator[tuple[int, int]]:
    """Where each statement begins and ends, without the semicolon and the spaces around it."""
    at = 0
    for piece in blank.split(";"):
        if piece.strip():
            yield at + len(piece) - len(piece.lstrip()), at + len(piece.rstrip())
        at += len(piece) + 1


def _block_end(code: str, start: int, filename: str) -> int:
    """The end of a comment in brackets, which may have others inside."""
    depth = 0
    for bracket in _BLOCK.finditer(code, start):
        depth += 1 if bracket[0] == "/*" else -1
        if depth == 0:
            return bracket.end()
    raise error(code, filename, line_of(code, start), "this /* is not closed")


def line_of(code: str, at: int) -> int:
    """The line of a place, from 1."""
    return code.count("\n", 0, at) + 1


def error(code: str, filename: str, line: int, message: str) -> SyntaxError:
    """What Python would raise, with that line of the file."""
    lines = code.split("\n")
    text = lines[min(line, len(lines)) - 1]
    return SyntaxError(message, (filename, line, len(text) - len(text.lstrip()) + 1, text))
