"""The house rules that a linter does not know: what is at the root, how long a module is, that nothing is swallowed."""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
AT_THE_ROOT = {"dashboard", "pipelines", "data", "tests", "requirements.txt", "README.md"}
LONGEST_MODULE = 250
LEFTOVERS = {"utils", "util", "helpers", "helper", "common", "manager", "managers", "misc"}


def modules() -> list[Path]:
    return [
        path
        for package in ("pipelines", "dashboard")
        for path in sorted((ROOT / package).rglob("*.py"))
        if "node_modules" not in path.parts
    ]


def ignored() -> list[str]:
    return [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if line.strip() and not line.startswith("#")]


def test_the_root_holds_only_what_the_design_names() -> None:
    names = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    assert {name for name in names - AT_THE_ROOT if not any(fnmatch.fnmatch(name, pattern) for pattern in ignored())} == set()


def test_data_holds_no_code() -> None:
    code = {path for pattern in ("*.py", "*.js", "*.sql") for path in (ROOT / "data").rglob(pattern)}
    assert {path for path in code if (ROOT / "data" / "workspace") not in path.parents} == set()


def test_no_module_is_too_long() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in modules()}
    assert {path: lines for path, lines in lengths.items() if lines > LONGEST_MODULE} == {}


def test_no_name_says_nothing() -> None:
    assert {str(path.relative_to(ROOT)) for path in modules() if LEFTOVERS & {path.stem, *path.relative_to(ROOT).parts}} == set()


def swallowed(source: str) -> Iterator[int]:
    """The lines in `source` where any error at all ends unseen: caught by everything, and followed by nothing."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ExceptHandler(type=None):
                yield node.lineno
            case ast.ExceptHandler(type=kind, body=body) if kind and _is_everything(kind) and all(map(_is_nothing, body)):
                yield node.lineno
            case ast.Call(func=called, args=kinds) if ast.unparse(called).endswith("suppress") and any(map(_is_everything, kinds)):
                yield node.lineno


def _is_everything(node: ast.expr) -> bool:
    caught = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(isinstance(name, ast.Name) and name.id in ("Exception", "BaseException") for name in caught)


def _is_nothing(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass | ast.Continue | ast.Break) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def test_no_error_is_swallowed() -> None:
    places = {f"{path.relative_to(ROOT)}:{line}" for path in modules() for line in swallowed(path.read_text())}
    assert places == set()


@pytest.mark.parametrize(
    "source",
    [
        "try: f()\nexcept: raise",
        "try: f()\nexcept Exception: pass",
        "try: f()\nexcept (ValueError, BaseException): ...",
        "for x in y:\n  try: f()\n  except Exception as e: continue",
        "with contextlib.suppress(Exception): f()",
    ],
)
def test_the_rule_sees_what_is_swallowed(source: str) -> None:
    assert list(swallowed(source))


@pytest.mark.parametrize(
    "source", ["try: f()\nexcept ValueError: pass", "try: f()\nexcept Exception:\n  stop()\n  raise", "with suppress(KeyError): f()"]
)
def test_the_rule_lets_the_rest_be(source: str) -> None:
    assert not list(swallowed(source))


ASKED = {
    "httpx.get",
    "httpx.post",
    "httpx.put",
    "httpx.delete",
    "httpx.stream",
    "httpx.request",
    "httpx.Client",
    "socket.create_connection",
}
PATIENT = {"timeout", "open_timeout"}


def asked_in_haste(source: str) -> Iterator[int]:
    """The lines in `source` that ask over the network and leave the wait to a library: 5 or 10 s, too short on a busy machine."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and _asks(node) and not PATIENT & {keyword.arg for keyword in node.keywords}:
            yield node.lineno


def _asks(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    return name in ASKED or (
        name == "connect" and any("ws://" in ast.unparse(argument) or "wss://" in ast.unparse(argument) for argument in call.args)
    )


def test_every_test_says_how_long_it_waits_for_a_server() -> None:
    tests = sorted((ROOT / "tests").rglob("*.py"))
    assert {f"{path.relative_to(ROOT)}:{line}" for path in tests for line in asked_in_haste(path.read_text())} == set()


@pytest.mark.parametrize("source", ["httpx.get(url)", "with httpx.Client(base_url=url) as client: pass", "connect(f'wss://{host}/stream')"])
def test_the_rule_sees_who_asks_in_haste(source: str) -> None:
    assert list(asked_in_haste(source))


@pytest.mark.parametrize("source", ["httpx.get(url, timeout=60)", "connect(folder)", "connect(f'ws://{host}/', open_timeout=60)"])
def test_the_rule_lets_the_patient_be(source: str) -> None:
    assert not list(asked_in_haste(source))
