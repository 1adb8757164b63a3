"""Python packages of one module each, which pip installs without any network."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

SLOW = """
from pathlib import Path
import time

def build_wheel(folder, config_settings=None, metadata_directory=None):
    Path({reached!r}).touch()
    time.sleep(600)
"""


def wheel(package: str, version: str, code: str, needs: Sequence[str] = ()) -> bytes:
    """A wheel of the module `package`."""
    info = f"{package}-{version}.dist-info"
    parts = {
        f"{package}.py": code,
        f"{info}/METADATA": "\n".join(["Metadata-Version: 2.1", f"Name: {package}", f"Version: {version}", *_needed(needs), ""]),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{package} = {package}:main\n",
    }
    parts[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*parts, f"{info}/RECORD"])
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for path, text in parts.items():
            file.writestr(zipfile.ZipInfo(path), text)
    return data.getvalue()


def file_name(package: str, version: str) -> str:
    return f"{package}-{version}-py3-none-any.whl"


def lay(folder: Path, package: str, version: str, code: str = "", needs: Sequence[str] = ()) -> Path:
    """A wheel in `folder`, which pip finds with --find-links."""
    folder.mkdir(exist_ok=True)
    path = folder / file_name(package, version)
    path.write_bytes(wheel(package, version, code, needs))
    return path


def lay_slow(folder: Path) -> tuple[Path, Path]:
    """A package that takes ten minutes to build; its folder, and a file that appears when that has begun."""
    folder.mkdir()
    reached = folder / "reached"
    (folder / "backend.py").write_text(SLOW.format(reached=str(reached)))
    (folder / "pyproject.toml").write_text('[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n')
    return folder, reached


def _needed(needs: Sequence[str]) -> list[str]:
    return [f"Requires-Dist: {need}" for need in needs]
