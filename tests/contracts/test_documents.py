"""What the documents say is so: tables are those of the declarations, examples run, files that are named are there."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import typer
from typer.testing import CliRunner

import pipelines.verbs
import pipelines.workspace
import tests.workspace
from pipelines import verbs
from pipelines.cli import commands
from pipelines.client.remote import RemoteFace
from pipelines.storage.layout import Layout
from pipelines.verbs.experiment import StartExperiment
from pipelines.verbs.face import do
from pipelines.verbs.system import ListEvents
from pipelines.verbs.verb import Asked, Change
from pipelines.workspace import doers
from tests.afterwards import follow
from tests.api.serving import serving
from tests.cli.doors import Door
from tests.contracts import documents
from tests.contracts.examples import MIGRATION, PAGES, ROOT, Example, Shell, examples
from tests.entering import announce
from tests.faces import FakeFace
from tests.workspace.conftest import House

LONGEST_README = 960
"""Words: who comes by reads it to the end."""
LISTING = re.compile(r"# ((?:pipelines|tests)/\S+\.py)\n")
SHELL = [example for example in examples() if example.language == "bash"]
NOTEBOOK = [
    example for example in examples() if example.language == "python" and not LISTING.match(example.text) and example.text != MIGRATION
]
LISTINGS = [example for example in examples() if example.language == "python" and LISTING.match(example.text)]


@pytest.mark.parametrize("name", documents.blocks())
def test_tables_are_those_of_the_declarations(name: str) -> None:
    written = documents.block_of(documents.PAGE.read_text(), name)
    assert written == documents.blocks()[name], "write it anew: python -m tests.contracts.documents --write"


def test_every_command_and_call_has_its_row() -> None:
    page = documents.PAGE.read_text()
    assert [word for word, _ in commands.every() if not re.search(rf"^\| `{word}[ `]", page, re.MULTILINE)] == []
    assert [kind.__name__ for kind in verbs.every() if f"| `{kind.http.method} {kind.http.path}` |" not in page] == []


def test_every_example_is_run_by_a_test() -> None:
    assert {str(example) for example in examples()} == {
        str(example) for example in [*SHELL, *NOTEBOOK, *LISTINGS, *(example for example in examples() if example.text == MIGRATION)]
    }


@pytest.mark.parametrize("example", SHELL, ids=str)
def test_what_is_typed_runs(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    shell = Shell()
    for line in example.lines:
        shell.run(line)


@pytest.mark.parametrize(
    "line", ["rm -r data", "python -m pipelines nothing", "python3 -m tests tests/nowhere", "source venv/bin/activate"]
)
def test_the_shell_sees_what_does_not_run(line: str) -> None:
    with pytest.raises(AssertionError):
        Shell().run(line)


def test_the_walk_on_a_shell_begins_two_forks_of_one_savepoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    face = follow(FakeFace.sample())
    shell = Shell(Door(face))
    for line in next(example for example in SHELL if "SAVEPOINT=" in example.text).lines:
        shell.run(line)
    begun = next(change for change in face.begun if isinstance(change, StartExperiment))
    assert (begun.name, len(begun.variants)) == ("split-paid", 2)
    assert shell.variables["SAVEPOINT"] == begun.savepoint


def test_every_command_that_changes_something_has_a_dry_run() -> None:
    changing = [word for word, _ in commands.every() if any(issubclass(kind, Change) for kind in documents.kinds_of(word))]
    functions = dict(commands.every())
    assert changing and [word for word in changing if "dry_run" not in inspect.signature(functions[word]).parameters] == []


@pytest.mark.parametrize("example", NOTEBOOK, ids=str)
def test_what_a_notebook_says_runs(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    layout = Layout(tmp_path / "data" / "workspace")
    layout.root.mkdir(parents=True)
    with serving(FakeFace.sample(), layout) as url:
        announce(layout, url)
        exec(compile(example.text, str(example), "exec"), {})
    assert "post_engagement" in capsys.readouterr().out


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().split()) <= LONGEST_README


def test_the_map_names_every_folder() -> None:
    page = (ROOT / "README.md").read_text()
    folders = [path.parent.relative_to(ROOT) for path in (ROOT / "pipelines").glob("*/__init__.py")]
    assert [str(folder) for folder in (*folders, Path("dashboard"), Path("data"), Path("tests")) if f"`{folder}/`" not in page] == []


def test_what_is_named_is_there() -> None:
    """Links, and the paths of files and folders in the repository."""
    for page in PAGES:
        text = (ROOT / page).read_text()
        links = [(ROOT / page).parent / link for link in re.findall(r"\]\(([^)#:]+)\)", text)]
        paths = [ROOT / path for path in re.findall(r"`((?:dashboard|pipelines|tests)/[\w/.]*(?:\.py|/))`", text)]
        listed = {example.text.split("\n")[0] for example in LISTINGS}
        assert [path for path in (*links, *paths) if not path.exists() and f"# {path.relative_to(ROOT)}" not in listed] == [], page


def test_modules_that_are_run_are_there() -> None:
    """`python -m …` in the running text, too."""
    for page in PAGES:
        for module, word in re.findall(r"`python3? -m ([\w.]+)(?: ([\w-]+))?", (ROOT / page).read_text()):
            assert importlib.util.find_spec(module), (page, module)
            assert module != "pipelines" or word == "COMMAND" or any(f"{known} ".startswith(f"{word} ") for known, _ in commands.every())


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The modules of the example verb, as if their files were where the page says."""
    paths = [_laid(example, tmp_path) for example in LISTINGS]
    for package in (pipelines.verbs, pipelines.workspace, tests.workspace):
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path.joinpath(*package.__name__.split(".")))])
    modules = [str(path.with_suffix("")).replace("/", ".") for path in paths]
    _forget_lists()
    yield modules
    for kind in [kind for kind in doers._planners if kind.__module__ in modules]:
        del doers._planners[kind]
    for module in modules:
        sys.modules.pop(module, None)
    monkeypatch.undo()
    _forget_lists()


def _laid(example: Example, root: Path) -> Path:
    """Writes a listing to the place that its first line names; that place."""
    named = LISTING.match(example.text)
    assert named
    path = root / named[1]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(example.text)
    return Path(named[1])


def _forget_lists() -> None:
    verbs.every.cache_clear()
    doers._load.cache_clear()


def test_the_example_verb_is_all_there_is_to_write(added: list[str], tmp_path: Path) -> None:
    """Its own test passes; and it has a command, a dry run, a REST call, and is reached from another process."""
    declaration, _, its_test = added
    kind = next(kind for kind in verbs.every() if kind.__module__ == declaration)
    house = House(tmp_path / "ws")
    try:
        for name, test in vars(importlib.import_module(its_test)).items():
            if name.startswith("test_"):
                test(house)
        job = house.ran("b").job
        shout: Callable[[str, str], Change[Any, Any]] = kind
        door = Door(cast(Any, house.face))
        for options in (["--dry-run"], []):
            done = CliRunner().invoke(_app(kind), [job, "from a shell", *options], obj=door.open)
            assert done.exit_code == 0, done.output
        with serving(house.face) as url:
            remote = RemoteFace(url)
            assert remote.plan(shout(job, "over REST")).text == "over REST"
            do(remote, shout(job, "over REST"))
            remote.close()
        events = [event.message for event in house.face.ask(ListEvents(job)) if event.kind.endswith(kind.call)]
        assert events == ["over REST", "from a shell"]
    finally:
        house.face.close()


def _app(kind: type[Asked[Any]]) -> typer.Typer:
    app = typer.Typer()
    app.command()(commands.function_of(commands.of_declaration(kind)))
    return app
