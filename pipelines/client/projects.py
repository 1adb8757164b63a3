"""A project of this machine: a folder whose package has an entry point, which `python -m` would start there, or the folder itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipelines.client.scripts import DATA_BYTES, SKIPPED, Script, read_file, walk
from pipelines.domain.errors import Invalid, NotFound
from pipelines.domain.files import content
from pipelines.domain.texts import MOST_ITEMS

ENTRY = "__main__.py"
START = """import runpy

runpy.run_module("{module}", run_name="__main__", alter_sys=True)  # as `python -m {module}` does
"""


def read(folder: Path, module: str) -> Script:
    """The project in `folder` with all its files, as what starts `module` there (empty: the folder's own `__main__.py`).

    Hidden files, environments and files that are large and no modules are left. Raises NotFound (`module.not_found`), Invalid
    (`code.files`) for too many files.
    """
    paths = walk(folder)
    if len(paths) > MOST_ITEMS:
        hint = f"Name the folder that the packages are in; hidden folders and {', '.join(sorted(SKIPPED))} are left out."
        raise Invalid("code.files", f"{folder} has more than {MOST_ITEMS:,} files", hint)
    names = {path: path.relative_to(folder).as_posix() for path in paths}
    taken = [path for path in paths if path.suffix == ".py" or path.stat().st_size <= DATA_BYTES]
    files = {names[path]: read_file(path) for path in taken}
    left = tuple(name for name in names.values() if name not in files)
    script, code = _start(folder, module, files)
    beside = {path: packed for path, packed in files.items() if path != script}
    return Script(script, code, str(folder.resolve()), beside, left)


def _start(folder: Path, module: str, files: Mapping[str, str]) -> tuple[str, str]:
    """Name and text of the script: that of a single module is the module itself."""
    single = f"{module}.py" if module else ENTRY
    if single in files:
        return single, content(files[single]).decode()
    path = module.replace(".", "/")
    inside = next((name for name, at in ((module, f"{path}.py"), (f"{module}.__main__", f"{path}/{ENTRY}")) if at in files), "")
    if not module or not inside:
        hint = "Give the folder that `python -m` is started in, and the module's dotted name (-m package.module)."
        raise NotFound("module.not_found", f"{folder} has no {f'module {module}' if module else ENTRY}", hint)
    return f"{inside}.py", START.format(module=module)
