"""A script's modules and files: what is taken along from its folder, at whatever remove, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pipelines.client import scripts
from pipelines.domain.errors import Invalid, NotFound

BESIDE = "from pathlib import Path\nHERE = Path(__file__).parent\n"
CASES: dict[str, tuple[Mapping[str, str], set[str]]] = {
    "alone": ({"job.py": "import json, pyspark\nfrom pyspark.sql import functions\n", "json.txt": ""}, set()),
    "a module, and its module": ({"job.py": "import a\n", "a.py": "import b\n", "b.py": "import a\n", "c.py": ""}, {"a.py", "b.py"}),
    "a module that has a name of Python's": ({"job.py": "import json\n", "json.py": ""}, {"json.py"}),
    "inside of a function": ({"job.py": "def f():\n    from a import b\n", "a.py": "b = 1\n"}, {"a.py"}),
    "by its name": ({"job.py": "import importlib\nimportlib.import_module('a')\n", "a.py": ""}, {"a.py"}),
    "a package": (
        {
            "job.py": "from p import a\n",
            "p/__init__.py": "",
            "p/a.py": "from . import b\nfrom .c import d\n",
            "p/b.py": "",
            "p/c.py": "",
            "p/e.py": "",
        },
        {"p/__init__.py", "p/a.py", "p/b.py", "p/c.py"},
    ),
    "a package of packages": (
        {"job.py": "import p.q.a\n", "p/__init__.py": "", "p/q/__init__.py": "from ..b import x\n", "p/q/a.py": "", "p/b.py": "x = 1\n"},
        {"p/__init__.py", "p/q/__init__.py", "p/q/a.py", "p/b.py"},
    ),
    "a folder of modules": ({"job.py": "import p.a\n", "p/a.py": "", "p/b.py": ""}, {"p/a.py"}),
    "a package before a module of its name": ({"job.py": "import a\n", "a.py": "", "a/__init__.py": ""}, {"a/__init__.py"}),
    "a module before a folder of its name": ({"job.py": "import a\n", "a.py": "", "a/b.py": ""}, {"a.py"}),
    "never out of its folder": ({"job.py": "from ..x import y\nfrom ...z import w\n", "x.py": ""}, set()),
    "a file that it names": ({"job.py": f"{BESIDE}HERE.joinpath('a.csv')\n", "a.csv": "", "b.csv": ""}, {"a.csv"}),
    "a file in a folder that it names": ({"job.py": f"{BESIDE}HERE / 'sql' / 'a.sql'\n", "sql/a.sql": "", "sql/b.sql": ""}, {"sql/a.sql"}),
    "a folder that it names": (
        {"job.py": f"{BESIDE}HERE / 'sql'\n", "sql/a.sql": "", "sql/.b": "", "sql/__pycache__/c": ""},
        {"sql/a.sql"},
    ),
    "a file that a module of a package names": (
        {
            "job.py": "import p.a\n",
            "p/__init__.py": "",
            "p/a.py": f"{BESIDE}HERE.parent / 'a.csv', HERE / 'b.csv'\n",
            "a.csv": "",
            "p/b.csv": "",
        },
        {"p/__init__.py", "p/a.py", "a.csv", "p/b.csv"},
    ),
    "a resource of a package": (
        {
            "job.py": "from importlib import resources\nimport p\nresources.files('p').joinpath('a.csv')\n",
            "p/__init__.py": "",
            "p/a.csv": "",
        },
        {"p/__init__.py", "p/a.csv"},
    ),
    "a name of one who looks nowhere": ({"job.py": "print('a.csv')\n", "a.csv": ""}, set()),
    "nothing above its folder": (
        {"job.py": f"{BESIDE}HERE / '../beside/a.csv', HERE / '..' / 'beside', HERE / '/etc/hosts', '.', '..'\n", "../beside/a.csv": ""},
        set(),
    ),
}


def lay(folder: Path, files: Mapping[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder / "job.py"


@pytest.mark.parametrize(("files", "taken"), CASES.values(), ids=CASES)
def test_a_script_takes_along_what_it_needs(files: Mapping[str, str], taken: set[str], tmp_path: Path) -> None:
    script = scripts.read(lay(tmp_path / "job_folder", files))
    assert set(script.files) == taken
    assert script.files == {path: files[path] for path in taken}
    assert (script.name, script.code) == ("job.py", files["job.py"])


def test_what_is_left_beside_a_script_that_looks_there_is_said(tmp_path: Path) -> None:
    files = {"job.py": f"{BESIDE}HERE / 'a.csv', HERE / 'large.csv'\n", "a.csv": "", "b.csv": "", ".hidden": "", "sql/c.sql": ""}
    path = lay(tmp_path, files)
    (tmp_path / "large.csv").write_bytes(bytes(scripts.DATA_BYTES + 1))
    assert scripts.read(path).left == ("b.csv", "large.csv")
    path.write_text("print('a.csv')\n")
    assert scripts.read(path).left == (), "who looks nowhere misses nothing"


def test_a_file_that_is_no_text_is_taken_as_it_is(tmp_path: Path) -> None:
    path = lay(tmp_path, {"job.py": f"{BESIDE}HERE / 'a.bin'\n"})
    (tmp_path / "a.bin").write_bytes(b"\xff\x00")
    assert scripts.read(path).files == {"a.bin": "data:;base64,/wA="}


def test_a_module_that_is_no_module_is_named(tmp_path: Path) -> None:
    path = lay(tmp_path, {"job.py": "import a\n", "a.py": "x" * 4_000_001})
    with pytest.raises(Invalid, match=r"a\.py is larger"):
        scripts.read(path)
    with pytest.raises(NotFound, match=r"gone\.py cannot be read"):
        scripts.read(tmp_path / "gone.py")
