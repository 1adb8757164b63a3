"""Requirements files of this machine: what they name by a path comes along, or is refused before anything begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.client import requirements
from pipelines.domain.errors import Invalid, TidemarkError
from pipelines.domain.requirements import refuse

FILES = {
    "needs/all.txt": "-r more/base.txt\n-c limits.txt # no newer ones\ntiny==1.0 ; python_version > '3'\n",
    "needs/more/base.txt": "--requirement=../last.txt\n./wheels/a-1.0.whl --hash=sha256:00\n",
    "needs/more/wheels/a-1.0.whl": "a",
    "needs/last.txt": "-e ../lib[fast]\n--find-links wheels\nb.whl\n",
    "needs/limits.txt": "tiny<2\n-c closer.txt\n",
    "needs/closer.txt": "tiny<1.5\n",
    "needs/wheels/c-1.0.whl": "c",
    "needs/b.whl": "b",
    "lib/setup.py": "x = 1\n",
    "circle.txt": "-rcircle.txt\n",
    "gone.txt": "-r other.txt\n",
    "none.txt": "./nothing\n",
}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_what_requirements_name_comes_along(here: Path) -> None:
    required = requirements.read(here / "needs/all.txt")
    assert required.text.splitlines() == [
        "{code}/lib[fast]",
        "-f {code}/wheels",
        "{code}/b.whl",
        "{code}/more/wheels/a-1.0.whl --hash=sha256:00",
        "-c {code}/limits.txt",
        "tiny==1.0 ; python_version > '3'",
    ]
    assert required.files == {
        "lib/setup.py": "x = 1\n",
        "wheels/c-1.0.whl": "c",
        "b.whl": "b",
        "more/wheels/a-1.0.whl": "a",
        "limits.txt": "tiny<2\ntiny<1.5\n",
    }
    refuse(required.text)


def test_requirements_that_name_no_path_stay_as_they_are(here: Path) -> None:
    path = here / "plain.txt"
    path.write_text("# all\ntiny \\\n  ==1.0\n--index-url https://index.example/simple\nx @ https://example/x.whl\n")
    assert requirements.read(path).text == path.read_text() and not requirements.read(path).files
    path.write_text("-f /wheels\n/wheels/y.whl\n-f {code}/wheels\n")
    assert requirements.read(path).text == path.read_text() and not requirements.read(path).files


@pytest.mark.parametrize(("name", "code"), [("circle", "circle"), ("gone", "gone"), ("none", "gone")])
def test_what_cannot_come_along_is_refused(here: Path, name: str, code: str) -> None:
    with pytest.raises(TidemarkError) as refused:
        requirements.read(here / f"{name}.txt")
    assert refused.value.code == f"requirements.{code}" and refused.value.hint


def test_two_files_of_one_name_are_refused(here: Path) -> None:
    (here / "b.whl").write_text("another")
    (here / "needs/two.txt").write_text("./b.whl\n../b.whl\n")
    with pytest.raises(Invalid, match="would both be b"):
        requirements.read(here / "needs/two.txt")


@pytest.mark.parametrize(
    "line", ["-r other.txt", "-cother.txt", "-r /a/b.txt", "./lib", "../x.whl", "x.whl", "-e lib", "--find-links=wheels"]
)
def test_a_version_refuses_a_path_that_it_does_not_hold(line: str) -> None:
    with pytest.raises(Invalid) as refused:
        refuse(f"tiny\n  {line}\n")
    assert refused.value.code == "requirements.path" and line in refused.value.message
