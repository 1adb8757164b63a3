"""What each folder and each area of tests may take, and the order that lets the workers end together: `budgets.toml`, read and held."""

from __future__ import annotations

import os
import tomllib
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.running import workers
from tests.running.clock import RUN, Clock, Machine

FILE = Path(__file__).with_name("budgets.toml")
OTHERS = "others"
HOUSE = "house"
"""The area of every file that no other area names."""
TOGETHER = ("browser",)
"""Folders whose files share a server and a browser: they are run one after the other."""


@dataclass(frozen=True)
class Area:
    """What one subject may take, and the patterns (`fnmatch`) of the files that are about it."""

    minutes: float
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Budgets:
    """Folder -> minutes, file -> seconds, name of an area -> area."""

    minutes: Mapping[str, float]
    seconds: Mapping[str, float]
    areas: Mapping[str, Area] = field(default_factory=dict)
    by_hand: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """File -> names of its tests that are run with those of `tests/long`: a function's name for all of its cases, else that of a case."""


def read(file: Path = FILE) -> Budgets:
    """Raises KeyError where a table is missing."""
    document = tomllib.loads(file.read_text())
    areas = {name: Area(area["minutes"], tuple(area.get("files", ()))) for name, area in document["areas"].items()}
    by_hand = {file: tuple(names) for file, names in document.get("by_hand", {}).items()}
    return Budgets(document["minutes"], document["seconds"], areas, by_hand)


def mark_by_hand(items: list[pytest.Item], by_hand: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Marks these tests as `long`; returns the names that no test has, each with its file."""
    left = {(file, name) for file, names in by_hand.items() for name in names}
    for item in items:
        named = {name for name in (item.name, getattr(item, "originalname", None)) if name in by_hand.get(_file(item), ())}
        if named:
            item.add_marker(pytest.mark.long)
            left -= {(_file(item), name) for name in named}
    return sorted(f"{file}::{name}" for file, name in left)


def folder(test: str) -> str:
    """`savepoint` of `tests/savepoint/test_take.py::test_one`."""
    return test.split("/")[1]


def area(file: str, areas: Mapping[str, Area]) -> str:
    """The name of the first area that names the file; the house's where none does."""
    return next((name for name, area in areas.items() if any(fnmatchcase(file, pattern) for pattern in area.files)), HOUSE)


def sums(took_s: Mapping[str, float], name: Callable[[str], str]) -> dict[str, float]:
    """Seconds of files, added up by what `name` calls them, the largest sum first."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for file, took in took_s.items():
        seconds[name(file)] += took
    return dict(sorted(seconds.items(), key=lambda entry: -entry[1]))


def longest_first(items: list[pytest.Item], seconds: Mapping[str, float]) -> list[pytest.Item]:
    """The same tests, file by file, the longest file first; the files of a folder that belongs together where its first one stands."""
    files = list(dict.fromkeys(_file(item) for item in items))
    took = {file: seconds.get(file, seconds[OTHERS]) for file in files}
    group = {file: folder(file) if folder(file) in TOGETHER else file for file in files}
    most: defaultdict[str, float] = defaultdict(float)
    for file in files:
        most[group[file]] = max(most[group[file]], took[file])
    return sorted(items, key=lambda item: _place(_file(item), most, group, took))


def _place(file: str, most: Mapping[str, float], group: Mapping[str, str], took: Mapping[str, float]) -> tuple[float, str, float, str]:
    return -most[group[file]], group[file], -took[file], file


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def over(took_s: Mapping[str, float], minutes: Mapping[str, float], kind: str) -> list[str]:
    """One sentence for each sum that is more than its minutes, or has none; `kind` stands before each name (`tests/`, `area `)."""
    sentences = []
    for name, seconds in sorted(took_s.items()):
        if name not in minutes:
            sentences.append(f"{kind}{name} has no budget in {FILE.name}")
        elif seconds > 60 * minutes[name]:
            sentences.append(f"{kind}{name} took {seconds / 60:.1f} minutes, its budget is {minutes[name]:g}")
    return sentences


def is_whole(config: pytest.Config) -> bool:
    """Whether nothing was chosen: neither files nor marks nor names."""
    option = config.option
    chosen = option.markexpr or option.keyword or option.deselect or getattr(option, "lf", False)
    return not chosen and config.args == config.getini("testpaths")


class Measuring:
    """In a worker: how long each part of each test took, by a clock that a busy neighbour does not move, nor a worker too many."""

    def __init__(self) -> None:
        cores = psutil.cpu_count() or 1
        self.clock = Clock(Machine(os.getppid(), os.environ[RUN]).read, cores)
        self._share = workers.share(cores)
        self._last = 0.0

    def pytest_sessionstart(self) -> None:
        self.clock.start()

    def pytest_sessionfinish(self) -> None:
        self.clock.stop()

    def pytest_runtest_logstart(self) -> None:
        self._last = self.clock.now()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report = yield
        now = self.clock.now()
        report.fair_s, self._last = (now - self._last) * self._share, now
        return report


class Holding:
    """In the controller: the sums by folder and by area, said at the end of a whole run, which fails where one is over its budget."""

    def __init__(self, budgets: Budgets) -> None:
        self._budgets = budgets
        self.took_s: defaultdict[str, float] = defaultdict(float)
        """Seconds of each file."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.took_s[report.nodeid.partition("::")[0]] += getattr(report, "fair_s", 0.0)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.OK and self._held():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section("minutes of one worker by folder and by area, beside the budget")
        for took_s, minutes, kind in self._kinds():
            for name, seconds in took_s.items():
                terminalreporter.write_line(f"{seconds / 60:7.1f} {minutes.get(name, 0.0):6g}  {kind}{name}")
        for sentence in self._held():
            terminalreporter.write_line(f"OVER BUDGET: {sentence}", red=True)

    def _held(self) -> list[str]:
        return [sentence for took_s, minutes, kind in self._kinds() for sentence in over(took_s, minutes, kind)]

    def _kinds(self) -> list[tuple[Mapping[str, float], Mapping[str, float], str]]:
        """Sums, budgets, and what stands before a name of each."""
        areas = self._budgets.areas
        minutes = {name: area.minutes for name, area in areas.items()}
        return [
            (sums(self.took_s, folder), self._budgets.minutes, "tests/"),
            (sums(self.took_s, lambda file: area(file, areas)), minutes, "area "),
        ]


def register(config: pytest.Config) -> None:
    """The part that this process has. Only whole runs are measured, and no run in one process is."""
    if not is_whole(config):
        return
    if RUN in os.environ and hasattr(config, "workerinput"):
        config.pluginmanager.register(Measuring(), "measuring")
    elif getattr(config.option, "numprocesses", None):
        config.pluginmanager.register(Holding(read()), "budgets")
