"""What is installed, told from the names of folders: quick, and the same as the packages' own word."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from pipelines.domain.installed import FILE, FOLDER, Installed, is_same, link, names, other_files
from pipelines.domain.runtimes import Runtime
from pipelines.driver import installed as driver
from pipelines.driver.planning import origins
from pipelines.sandbox import installed


def test_each_package_of_this_interpreter_has_the_version_that_it_says_itself() -> None:
    told = {driver.normal(there.name): there.version for there in reversed(list(metadata.distributions(path=sys.path)))}
    assert {name: version.partition(" of files ")[0] for name, version in driver.packages(sys.path).items()} == told


def test_the_first_folder_wins_and_what_no_index_gave_is_told_apart_by_its_files(tmp_path: Path) -> None:
    for folder, version, content in (("a", "1.0", "x"), ("b", "2.0", "x"), ("c", "1.0", "y"), ("d", "1.0", "y")):
        place = tmp_path / folder / f"My_Rates-{version}.dist-info"
        place.mkdir(parents=True)
        (place / "RECORD").write_text(
            f"rates.py,sha256={content},1\n../../bin/rates,sha256={folder},1\n{place.name}/METADATA,sha256={folder},1\n"
        )
    (tmp_path / "b" / "Old-3.1-py3.11.egg-info").write_text("")
    assert driver.packages([str(tmp_path / "a"), str(tmp_path / "b")]) == {"my-rates": "1.0", "old": "3.1"}
    for folder in "acd":
        (tmp_path / folder / "My_Rates-1.0.dist-info" / "direct_url.json").write_text(f'{{"url": "file:///{folder}"}}')
    a, c, d = (driver.packages([str(tmp_path / folder)])["my-rates"] for folder in "acd")
    assert a.startswith("1.0 of files ") and a != c == d


def test_another_interpreters_packages_are_asked_for_anew_when_they_have_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    before = installed.of(Runtime(sys.executable))
    assert installed.of(Runtime(sys.executable)) is before and before is not None and before.packages["numpy"] == metadata.version("numpy")
    (tmp_path / "rates-1.0.dist-info").mkdir()
    after = installed.of(Runtime(sys.executable))
    assert after is not None and after.packages["rates"] == "1.0" and not is_same(before, after)
    assert installed.of(Runtime(str(tmp_path / "no-python"))) is None


def test_the_time_zone_is_that_of_the_environment_and_else_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zone, clock = tmp_path / "zoneinfo" / "Europe" / "Berlin", tmp_path / "localtime"
    zone.parent.mkdir(parents=True)
    zone.write_bytes(b"TZif")
    clock.symlink_to(zone)
    monkeypatch.setattr(installed, "_ANSWERS", {})
    monkeypatch.setattr(driver, "CLOCK", str(clock))
    before = installed.of(Runtime(sys.executable))
    monkeypatch.setenv("TZ", ":Asia/Tokyo")
    monkeypatch.setattr(installed, "_ANSWERS", {})
    after = installed.of(Runtime(sys.executable))
    assert before is not None and after is not None and driver.time_zone() == after.time_zone == "Asia/Tokyo"
    assert is_same(before, replace(before, time_zone="")) and not is_same(before, after)
    monkeypatch.delenv("TZ")
    assert driver.time_zone() == "Europe/Berlin"


def test_a_module_of_elsewhere_is_noted_by_its_bytes_and_one_of_the_version_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("elsewhere", "version"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"rates_{name}.py").write_text("RATE = 1\n")
        monkeypatch.syspath_prepend(str(tmp_path / name))
        monkeypatch.setitem(sys.modules, f"rates_{name}", importlib.import_module(f"rates_{name}"))
    noted = driver.modules(tmp_path / "version")
    assert [name for name in noted if "rates" in name] == ["module rates_elsewhere"]
    assert origins.elsewhere("rates_elsewhere", str(tmp_path / "version")) == {
        name: noted[name] for name in noted if name.endswith("rates_elsewhere")
    }
    assert not origins.elsewhere("rates_version", str(tmp_path / "version"))


def test_files_and_folders_that_are_others_are_told_by_what_was_asked_of_them() -> None:
    then = Installed(
        "3.11", "", files={"/a": "1", "/b": "1", "/c": "", "/d": "", "/e": names(["x"]), "/f": names(["x", "y"]), "/g": names([])}
    )
    asked = {"/h": FILE, "/i": FOLDER, "/j": FILE, "/k": link("/a"), "/l": link("/a"), "/m": ""}
    then = replace(then, files={**then.files, **asked})
    now = {"/a": "2", "/d": "1", "/e": names(["x", "y"]), "/f": names(["y", "x"])}
    now |= {"/i": FILE, "/j": FILE, "/k": link("/b"), "/l": link("/a"), "/m": FOLDER}
    assert list(other_files(then, now)) == [
        "The script read /a, which is another now.",
        "The script read /b, which is not there now.",
        "The script looked for /d, which was not there, and is now.",
        "The script looked into /e, in which there is something else now.",
        "The script looked into /g, which is not there now.",
        "The script looked for /h, which was a file, and is not there now.",
        "The script looked for /i, which was a folder, and is a file now.",
        "The script followed the link /k, which leads elsewhere now.",
        "The script looked for /m, which was not there, and is now.",
    ]


def test_what_a_package_requires_is_compared_with_it() -> None:
    used = origins.packages_of("pandas.core.frame")
    assert {name: metadata.version(name) for name in ("pandas", "numpy", "python-dateutil")}.items() <= used.items()
    assert "pytest-xdist" not in used
