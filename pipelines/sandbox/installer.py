"""Installs requirements into an environment of their own: a script that runs alone, in a process of its own, on Tidemark's Python.

The folder on its command line holds `request.json`, and with it `code/` where the requirements name files of the script; the environment
becomes `environment/` in it, with `pins.txt`. It has what the requirements name first, and then what the Python has that it is based on:
its PySpark. A script of it (`bin/`) names the place that the environment will have, not the one where it is made.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

REQUEST, ENVIRONMENT, CODE_FOLDER, PINS = "request.json", "environment", "code", "pins.txt"
CODE = "{code}"
OPTIONS = ("-", "#")
"""What lines of a requirements file begin with that name no package."""
RETRIES = "2"
PACKAGES = "import sysconfig; print(sysconfig.get_path('purelib')); print(sysconfig.get_path('platlib'))"
BASE = "_base.pth"
"""Last in the environment's path: what is installed in it comes before what its base has."""


@dataclass(frozen=True)
class Request:
    """What to install: `pins`, where there are any, in place of what the requirements leave open. `place` is where it will be."""

    python: str
    requirements: str
    pins: str
    place: str


def main(folder: Path) -> int:
    """1. An empty environment; 2. what was asked for; 3. what that has become; 4. what the base has."""
    request = Request(**json.loads((folder / REQUEST).read_text()))
    environment, code = folder / ENVIRONMENT, folder / CODE_FOLDER
    python = environment / "bin" / "python"
    subprocess.run([request.python, "-I", "-m", "venv", "--without-pip", environment], check=True)  # 1
    (folder / "requirements.txt").write_text(_lines(request).replace(CODE, str(code)))
    pip = [sys.executable, "-I", "-m", "pip", "--python", str(python), "--disable-pip-version-check", "--no-input"]
    install = ["install", "--retries", RETRIES, *(["--no-deps"] if request.pins else []), "-r", str(folder / "requirements.txt")]
    done = subprocess.run([*pip, *install], check=False)  # 2
    if done.returncode:
        return done.returncode
    frozen = subprocess.run([*pip, "freeze"], check=True, capture_output=True, text=True).stdout  # 3
    (environment / PINS).write_text(frozen.replace(str(code), CODE))
    _base_on(request.python, python)  # 4
    _move(environment, request.place)
    return 0


def _lines(request: Request) -> str:
    """The requirements; with pins, of the requirements only where packages are looked for."""
    if not request.pins:
        return request.requirements
    options = [line for line in request.requirements.splitlines() if line.strip().startswith(OPTIONS)]
    return "\n".join([*options, request.pins])


def _base_on(base: str, python: Path) -> None:
    own, _ = _packages(str(python))
    lines = [f"import site; site.addsitedir({path!r})\n" for path in dict.fromkeys(_packages(base))]
    Path(own, BASE).write_text("".join(lines))


def _packages(python: str) -> list[str]:
    return subprocess.run([python, "-I", "-c", PACKAGES], check=True, capture_output=True, text=True).stdout.splitlines()


def _move(environment: Path, place: str) -> None:
    here = str(environment).encode()
    for path in [environment / "pyvenv.cfg", *(environment / "bin").iterdir()]:
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        if here in data:
            path.write_bytes(data.replace(here, place.encode()))


def write(folder: Path, request: Request, files: dict[str, bytes]) -> None:
    """Puts down what a process of this script begins with."""
    for path, data in files.items():
        (folder / CODE_FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / CODE_FOLDER / path).write_bytes(data)
    (folder / REQUEST).write_text(json.dumps(asdict(request)))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[-1])))
