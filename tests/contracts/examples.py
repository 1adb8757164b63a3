"""The examples of the documents, and a shell that runs them: commands and REST calls on a fake workspace, the rest by what it takes."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import httpx

from dashboard import environment
from dashboard.__main__ import command_line
from tests.__main__ import stages
from tests.afterwards import follow
from tests.api.serving import serving
from tests.cli.doors import Door
from tests.faces import FakeFace

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "pipelines/README.md", "tests/README.md", "tests/bench/README.md", "data/README.md")
URL = "http://127.0.0.1:8501"
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ASSIGNED = re.compile(r"(\w+)=\$\((.+)\)")


@dataclass(frozen=True)
class Example:
    """A fenced block of a page."""

    page: str
    number: int
    language: str
    text: str

    @property
    def lines(self) -> list[str]:
        """What a shell runs, one command each."""
        return [line for line in self.text.replace("\\\n", " ").splitlines() if shlex.split(line, comments=True)]

    def __str__(self) -> str:
        return f"{self.page}:{self.number}"


def examples() -> list[Example]:
    """Every fenced block, by page."""
    return [
        Example(page, number, block[1], block[2])
        for page in PAGES
        for number, block in enumerate(_FENCED.finditer((ROOT / page).read_text()), 1)
    ]


MIGRATION = next(example.text for example in examples() if example.text.startswith("# migration.py\n"))
"""The example of a migration by a function."""


@dataclass
class Shell:
    """Runs lines as a shell does; fails for a line that it does not know."""

    tidemark: Door = field(default_factory=lambda: Door(follow(FakeFace.sample())))
    variables: dict[str, str] = field(default_factory=dict)

    def run(self, line: str) -> str:
        """What the line prints."""
        assigned = _ASSIGNED.fullmatch(line.strip())
        if assigned:
            self.variables[assigned[1]] = self.run(assigned[2]).strip()
            return ""
        for name, value in self.variables.items():
            line = line.replace(f"${name}", value)
        words = shlex.split(line, comments=True)
        programs: dict[tuple[str, ...], Callable[[list[str]], str]] = {
            ("python", "-m", "pipelines"): self._pipelines,
            ("python", "-m", "tests.contracts.documents"): _documents,
            ("python3", "-m", "dashboard"): _dashboard,
            ("python3", "-m", "tests"): _tests,
            ("source",): _source,
            ("curl",): self._curl,
        }
        known = [program for program in programs if words[: len(program)] == list(program)]
        assert known, f"a test does not know how to run: {line}"
        return programs[known[0]](words[len(known[0]) :])

    def _pipelines(self, words: list[str]) -> str:
        done = self.tidemark(*words)
        assert done.exit_code == 0, (words, done.output)
        return done.stdout

    def _curl(self, words: list[str]) -> str:
        curl = argparse.ArgumentParser(exit_on_error=False)
        curl.add_argument("-X", dest="method", default="GET")
        curl.add_argument("-H", dest="headers", action="append", default=[])
        curl.add_argument("-d", dest="body")
        curl.add_argument("url")
        call = curl.parse_args(words)
        headers = dict(header.split(": ", 1) for header in call.headers)
        with serving(self.tidemark.face) as url:
            at = call.url.replace(URL, url)
            answer = httpx.request(call.method, at, headers=headers, content=call.body, trust_env=False, timeout=60)
        assert answer.is_success, (words, answer.text)
        return answer.text


def _dashboard(words: list[str]) -> str:
    command_line().parse_args(words)
    return ""


def _tests(words: list[str]) -> str:
    """What is named is there, and marks are those that tests have."""
    marks = re.findall(r"^    (\w+):", (ROOT / ".pytest.ini").read_text(), re.MULTILINE)
    assert all(value in marks for option, value in pairwise(words) if option == "-m"), words
    assert all((ROOT / word).exists() for word in words if word.startswith("tests")), words
    known = words[0] in ("quick", "changed") or words[0].startswith(("tests", "-")) if words else True
    assert known and stages(words)["pytest"], words
    return ""


def _documents(words: list[str]) -> str:
    assert words == ["--write"], words
    return ""


def _source(words: list[str]) -> str:
    assert [ROOT / word for word in words] == [environment.VENV / "bin" / "activate"], words
    return ""
