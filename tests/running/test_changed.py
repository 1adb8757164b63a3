"""What has changed, asked of a real git; and which tests it concerns, asked of this repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.running import changed

CONCERNS = {
    "pipelines/savepoint/take.py": ("tests/savepoint/test_take.py", "tests/contracts/test_style.py"),
    "pipelines/driver/sinklog.py": ("tests/driver/test_sinklog.py",),
    "pipelines/jobs/post_engagement.py": ("tests/savepoint/test_exactness.py",),
    "pipelines/__main__.py": ("tests/cli/test_help.py",),
    "dashboard/app.py": ("tests/dashboard/test_shell.py", "tests/browser/test_pages.py"),
    "tests/savepoint/matrix.py": ("tests/savepoint/test_exactness_matrix.py",),
    "tests/driver/conftest.py": ("tests/driver/test_run.py",),
    "tests/storage/test_paths.py": ("tests/storage/test_paths.py",),
    "tests/golden/hdfs/commits/0": ("tests/checkpoint/test_closure.py",),
    "pipelines/savepoint/a_module_that_is_gone.py": ("tests/savepoint/test_take.py",),
}


@pytest.mark.parametrize("file", CONCERNS)
def test_a_change_concerns_its_mirror_and_what_imports_it(file: str) -> None:
    tests = changed.tests_of([file])
    assert set(CONCERNS[file]) <= set(tests)


def test_it_does_not_concern_the_rest() -> None:
    assert "tests/storage/test_s3.py" not in changed.tests_of(["dashboard/app.py"])
    assert not [test for test in changed.tests_of(["tests/conftest.py"]) if test.startswith("tests/bench")]
    assert changed.tests_of([]) == []


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-b", "main")
    for name in ("kept", "edited", "deleted"):
        (tmp_path / name).write_text(name)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    git(tmp_path, "checkout", "-b", "mine")
    return tmp_path


def test_committed_uncommitted_deleted_and_untracked_files_have_changed(repository: Path) -> None:
    (repository / "committed").write_text("new")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "second")
    (repository / "edited").write_text("otherwise")
    (repository / "deleted").unlink()
    (repository / "untracked").write_text("new")
    assert changed.files_since(None, repository) == ["committed", "deleted", "edited", "untracked"]
    assert changed.files_since("HEAD", repository) == ["deleted", "edited", "untracked"]


def test_the_base_is_where_the_branch_began(repository: Path) -> None:
    (repository / "mine").write_text("new")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "mine")
    git(repository, "checkout", "main")
    (repository / "theirs").write_text("new")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "theirs")
    git(repository, "checkout", "mine")
    assert changed.files_since("main", repository) == changed.files_since(None, repository) == ["mine"]


def test_no_such_base(repository: Path) -> None:
    with pytest.raises(changed.NoBase, match="nowhere is no commit"):
        changed.files_since("nowhere", repository)
