"""Links to files of another user, which the system forbids where it protects links: a plan says that they will be copied."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from pipelines.sandbox.environment import ROOT
from pipelines.storage import copies, folders, users
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Clone, How
from pipelines.storage.users import Other
from tests.other_user import MAY_SWITCH, NAME, passable
from tests.workspace.test_run_as_exact import python_of

MODES = {"read": 0o644, "written": 0o666, "run": 0o777, "run-as-its-owner": 0o4777, "run-as-its-group": 0o2777}
LOOK = """
import json, sys
from pipelines.storage import folders
from pipelines.storage.addresses import open_storage
from pipelines.storage.protocol import Clone
source, target = map(open_storage, sys.argv[1:3])
said = {name: folders.expected_how(source, target, name).value for name in sys.argv[3:]}
print(json.dumps([said, {name: next(iter(target.clone(source, [Clone(name, name)]))).value for name in sys.argv[3:]}]))
"""


def test_the_plan_says_of_each_what_the_system_will_allow() -> None:
    with passable() as folder:
        python = python_of(folder)
        if not python:
            return
        users.assume(Other(users.named(NAME), folder))
        theirs, own = folder / "theirs", folder / "own"
        theirs.mkdir()
        theirs.chmod(0o755)  # whatever umask a workspace that was opened before has left
        own.mkdir()
        os.chown(own, users.named(NAME).uid, -1)
        for name, mode in MODES.items():
            (theirs / name).write_text(name)
            (theirs / name).chmod(mode)
        said, made = json.loads(as_nobody(python, str(theirs), str(own), *MODES))
        assert {name: How(way) for name, way in said.items()} == expected(made), (said, made)
        assert made["written"] == "link" and (made["read"] == "link") is (users.HARD_LINKS.read_text().strip() == "0")


def expected(made: dict[str, str]) -> dict[str, How]:
    """What is not linked is copied, or shares its blocks where the disk can."""
    return {name: How.LINK if way == "link" else How.COPY for name, way in made.items()}


def as_nobody(python: str, *words: str) -> str:
    path = os.pathsep.join([str(ROOT), *(path for path in sys.path if path.endswith("-packages"))])
    command = [python, "-c", LOOK, *words]
    return subprocess.check_output(command, text=True, cwd="/", env={"PYTHONPATH": path}, **users.switch())


def test_ones_own_files_and_those_of_anybody_for_root_are_linked(tmp_path: Path) -> None:
    source, target = open_storage(str(tmp_path / "a")), open_storage(str(tmp_path / "b"))
    source.write("one", b"1")
    (tmp_path / "a" / "one").chmod(0o400)
    assert copies.may_link(str(tmp_path / "a" / "one")) and folders.expected_how(source, target, "one") is How.LINK
    assert list(target.clone(source, [Clone("one", "one")])) == [How.LINK]
    if MAY_SWITCH:
        os.chown(tmp_path / "a" / "one", users.named(NAME).uid, -1)
        assert copies.may_link(str(tmp_path / "a" / "one"))


def test_what_is_not_there_yet_says_nothing_of_its_owner(tmp_path: Path) -> None:
    source, target = open_storage(str(tmp_path / "a")), open_storage(str(tmp_path / "b"))
    assert folders.expected_how(source, target, "none") is How.LINK
