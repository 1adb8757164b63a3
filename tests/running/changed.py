"""Which tests a change concerns: those of the folder that mirrors it, and those that import what changed, at whatever remove.

`tests/conftest.py` and what all tests share concern all of them. A file that is no module concerns the tests that name it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("pipelines", "dashboard", "tests")
ALWAYS = "tests/contracts"
MIRRORS = {"dashboard": ("tests/dashboard", "tests/browser"), "pipelines/api": ("tests/api",), "pipelines/cli": ("tests/cli",)}
BY_HAND = ("bench", "long")
"""Nobody's change asks for these."""
BASES = ("@{upstream}", "origin/HEAD", "main", "master")
"""Where a branch may have begun, the first that there is."""


class NoBase(Exception):
    """What was named is no commit."""


def choose(base: str | None, root: Path = ROOT) -> list[str]:
    """Test files for what differs from `base`, committed or not; without one, from where this branch began."""
    return tests_of(files_since(base, root), root)


def files_since(base: str | None, root: Path) -> list[str]:
    """Changed, added, deleted and untracked files, from the root; raises NoBase."""
    begun = _merge_base(base, root) if base else next(filter(None, (_try(candidate, root) for candidate in BASES)), "HEAD")
    changed = _git(root, "diff", "--name-only", "--no-renames", begun, "--")
    return sorted({*changed, *_git(root, "ls-files", "--others", "--exclude-standard")})


def _merge_base(base: str, root: Path) -> str:
    if begun := _try(base, root):
        return begun
    raise NoBase(f"{base} is no commit that this branch shares anything with.")


def _try(base: str, root: Path) -> str:
    """Empty where there is none: a fresh branch has no upstream, a shallow clone no common commit."""
    answer = subprocess.run(["git", "merge-base", base, "HEAD"], cwd=root, capture_output=True, text=True)
    return answer.stdout.strip()


def _git(root: Path, *arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()


def tests_of(files: Iterable[str], root: Path = ROOT) -> list[str]:
    """Test files from the root, sorted; nothing for no files."""
    paths = sorted(path.relative_to(root) for path in (root / "tests").rglob("test_*.py"))
    everything = [str(path) for path in paths if path.parts[1] not in BY_HAND]
    importers = _importers(root)
    chosen: set[str] = set()
    for file in files:
        chosen |= _of_one(file, everything, importers, root)
    if chosen or list(files):
        chosen |= {test for test in everything if test.startswith(f"{ALWAYS}/")}
    return sorted(chosen)


def _of_one(file: str, everything: list[str], importers: Callable[[str], set[str]], root: Path) -> set[str]:
    """By its mirror; by the modules that import it, or that import what names it."""
    folders = {f"{folder}/" for folder in _mirrors(file)}
    naming = {_module(module) for module in _naming(_names(file), root)} | ({_module(file)} if file.endswith(".py") else set())
    paths = {f"{module.replace('.', '/')}.py" for each in naming for module in importers(each)}
    folders |= {path.removesuffix("conftest.py") for path in paths if path.endswith("/conftest.py")}  # fixtures need no import
    return (paths & set(everything)) | {test for test in everything if test.startswith(tuple(folders))}


def _naming(names: Iterable[str], root: Path) -> list[str]:
    """Modules of tests in whose text one of `names` is."""
    modules = {str(path.relative_to(root)): path.read_text() for path in (root / "tests").rglob("*.py")} if names else {}
    return [module for module, text in modules.items() if any(name in text for name in names)]


def _mirrors(file: str) -> tuple[str, ...]:
    """`pipelines/savepoint/take.py` -> `tests/savepoint`; a `tests/…/conftest.py`, or data beside tests, -> its folder."""
    parts = PurePosixPath(file).parts
    if parts[0] == "tests":
        own = PurePosixPath(file).parent
        return (str(own),) if parts[-1] == "conftest.py" or not file.endswith(".py") else ()
    if parts[0] == "pipelines":
        return MIRRORS.get("/".join(parts[:2]), (f"tests/{parts[1]}",)) if len(parts) > 2 else ("tests/cli",)
    return MIRRORS.get(parts[0], ())


def _names(file: str) -> list[str]:
    """What a test calls a file that it does not import: a script's or module's name, a document's, the folder of data beside tests."""
    path = PurePosixPath(file)
    if file.endswith(".py"):
        return [path.name] if file.startswith("pipelines/jobs/") else [f'"{_module(file)}"']
    data = [f'"{path.parts[1]}"'] if path.parts[0] == "tests" and len(path.parts) > 3 else []
    return [*data, *([path.name] if path.suffix and path.stem.isidentifier() else [])]


def _module(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _importers(root: Path) -> Callable[[str], set[str]]:
    """Module -> all that import it, directly or not, and itself; a deleted or unimportable one has itself alone."""
    import sys

    import grimp

    sys.path.insert(0, str(root))
    try:
        graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    finally:
        sys.path.remove(str(root))
    return lambda module: {module, *(graph.find_downstream_modules(module) if module in graph.modules else ())}
