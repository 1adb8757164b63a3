"""Which modules a command needs, read from the text of the declarations and of `nouns/`.

To import all of them takes half a second of a processor, which a command that takes a savepoint would wait for. A contract
(`tests/cli/test_shelves.py`) holds that the text says what the modules do when they are imported.
"""

from __future__ import annotations

import importlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

from pipelines import verbs

_DECLARED = re.compile(r'^    command(?:, shell)? = "([^"]+)"', re.MULTILINE)
_ADDED = re.compile(r'^(?:@command|alias|group)\(\s*"([^"]+)"', re.MULTILINE)
_ABOUT = re.compile(r"^@?(?:shows|plans|completes|becomes|describes|excludes|defaults|alias)\(([^()]*)", re.MULTILINE)
_NAME = re.compile(r"\b[A-Z]\w*")
_NOUNS = "pipelines.cli.nouns", (str(Path(__file__).with_name("nouns")),)
"""By its name: the modules of `nouns/` import what asks here for them."""
Index = Mapping[str, frozenset[str]]


def declaring(word: str) -> None:
    """Imports the modules that declare or add the command, or the group of commands, that is called so."""
    for module in _declared().get(word, frozenset()) | _added().get(word, frozenset()) | _added().get(word.partition(" ")[0], frozenset()):
        importlib.import_module(module)


@cache
def about(name: str) -> None:
    """Imports the modules of `nouns/` that add something to the declaration, or to the values, of the class that is called so."""
    for module in _about().get(name, ()):
        importlib.import_module(module)


def declared_in(word: str) -> Iterable[str]:
    """Modules of declarations, by the word of their command."""
    return _declared().get(word, frozenset())


@cache
def _declared() -> Index:
    return _index(verbs.__name__, verbs.__path__, _DECLARED.findall)


@cache
def _added() -> Index:
    return _index(*_NOUNS, _ADDED.findall)


@cache
def _about() -> Index:
    return _index(*_NOUNS, lambda text: [name for names in _ABOUT.findall(text) for name in _NAME.findall(names)])


def _index(package: str, folders: Iterable[str], says: Callable[[str], Iterable[str]]) -> Index:
    """What the modules of a package say -> the modules that say it."""
    by_word: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted(path for folder in folders for path in Path(folder).glob("*.py")):
        for word in says(path.read_text()):
            by_word[word].add(f"{package}.{path.stem}")
    return {word: frozenset(modules) for word, modules in by_word.items()}
