"""Files and variables that a script reads are noted, whoever asks for them on its behalf; those of others are not."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.domain.installed import FILE, FOLDER, link, names, unread
from pipelines.driver import opened
from pipelines.workspace.verdicts import are_same

ROOT = Path(__file__).parents[2]

SCRIPT = """
import configparser, ctypes, json, os, pkgutil, sqlite3, sys, tempfile, threading
from concurrent.futures import ThreadPoolExecutor
from importlib.util import module_from_spec, spec_from_file_location
from multiprocessing.pool import ThreadPool
from pathlib import Path
import pandas
import beside

os.chdir(sys.argv[1])
json.load(open("rules.json"))
open("password").read()
configparser.ConfigParser().read("settings.ini")
pandas.read_csv("rates.csv")
os.close(os.open("raw", os.O_RDONLY))
Path("link").read_text()
with ThreadPoolExecutor() as pool:
    list(pool.map(Path.read_text, [Path("pooled")]))
    pool.submit(ThreadPoolExecutor().submit, Path("within").read_text).result().result()
ThreadPool(1).map(Path.read_text, [Path("mapped")])
thread = threading.Thread(target=Path("threaded").read_text)
thread.start()
thread.join()
sqlite3.connect("rates.db").close()
sqlite3.connect("file:more%20rates.db?mode=ro", uri=True).close()
sqlite3.connect(":memory:").close()
sys.path.insert(0, ".")
import elsewhere
pkgutil.get_data("elsewhere", "data.txt")
for _ in range(2):
    spec = spec_from_file_location("rates", "loaded.py")
    spec.loader.exec_module(module_from_spec(spec))
open("written", "w").close()
open("appended", "a").close()
open("gone").close()
Path("gone").unlink()
for apart in ("output/own", "code/data.txt"):
    Path(apart).read_text()
for name in ("never", "later", "output/never"):
    try:
        open(name)
    except FileNotFoundError:
        pass
open("later", "w").close()
os.chmod("later", 0o644)
os.listdir("rules"), list(Path("output").iterdir()), [path.name for path in Path("flags").glob("*.flag")]
try:
    ctypes.CDLL("./rates.so")
except OSError:
    pass
os.chdir("/")
"""
NOTING = """
import json, runpy, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from pipelines.domain.run_specs import RunSpec
from pipelines.driver import opened

place = sys.argv[1]
fields = {"format": 1, "run": "r", "job": "j", "version": "v", "args": (), "conf": {}, "master": "", "checkpoints": f"{place}/checkpoints"}
opened.note(RunSpec(script=f"{place}/code/job.py", output=f"{place}/output", **fields))
open(f"{place}/ours").close()
with ThreadPoolExecutor() as pool:
    pool.submit(Path(f"{place}/ours").read_text).result()
sys.path.insert(0, f"{place}/code")
runpy.run_path(f"{place}/code/job.py")
print(json.dumps(opened.files()))
"""


def test_the_files_that_a_script_reads_are_noted_by_their_bytes(tmp_path: Path) -> None:
    by_threads = ("mapped", "pooled", "threaded", "within")
    loaded = ("elsewhere/data.txt", "loaded.py", "rates.db-wal")
    read = (
        "later",
        "linked",
        *loaded,
        *by_threads,
        "more rates.db",
        "rates.csv",
        "rates.db",
        "rates.so",
        "raw",
        "rules.json",
        "settings.ini",
    )
    for name in (*read, "elsewhere/__init__.py", "password", "gone", "ours", "output/own", "code/data.txt", "code/beside.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(
            {"rules.json": "{}", "settings.ini": "[a]", "code/beside.py": "", "loaded.py": "", "elsewhere/__init__.py": ""}.get(name, name)
        )
        (tmp_path / name).chmod(0o644)
    (tmp_path / "later").unlink()
    for name in ("rules/b", "rules/a", "flags/on.flag"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (password := tmp_path / "password").chmod(0o600)
    (tmp_path / "link").symlink_to(tmp_path / "linked")
    (tmp_path / "code" / "job.py").write_text(SCRIPT)
    told = subprocess.run([sys.executable, "-c", NOTING, tmp_path], capture_output=True, text=True, check=True).stdout
    noted = {path: digest for path, digest in json.loads(told).items() if path.startswith(f"{tmp_path}/")}
    assert noted.pop(str(password)) == f"8 bytes of {password.stat().st_ctime_ns}", "no hash of a password"
    assert [noted.pop(str(tmp_path / name)) for name in ("never", "more rates.db-wal")] == ["", ""], "it may be there another day"
    assert [noted.pop(str(tmp_path / name)) for name in ("rules", "flags")] == [names(["a", "b"]), names(["on.flag"])]
    assert noted == {str(tmp_path / name): hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in read}


ASKING_FOR_PATHS = """
import logging.handlers, os, shutil, socket, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from os import stat

os.chdir(sys.argv[1])
socket.gethostname()
logging.handlers.TimedRotatingFileHandler("logged"), logging.handlers.WatchedFileHandler("logged")
os.path.exists("there"), Path("folder").is_dir(), os.access("accessible", os.R_OK), os.path.exists("never")
os.path.getsize("sized"), os.path.getmtime("aged"), stat("folder of an age")
os.path.exists("read"), open("read").close()
if not os.path.isfile("made"):
    open("made", "w").close()
with ThreadPoolExecutor() as pool:
    list(pool.map(os.path.exists, ["pooled"]))
Path("current").resolve()
os.makedirs("put", exist_ok=True), Path("put").mkdir(exist_ok=True), os.path.exists("output/own"), os.path.exists("/usr/lib")
shutil.rmtree("taken away"), shutil.rmtree("taken away before", ignore_errors=True)
try:
    os.listdir("later")
except FileNotFoundError:
    pass
os.chdir("/")
"""


def test_what_a_script_asks_of_paths_is_noted_as_it_was_told(tmp_path: Path) -> None:
    for name in (
        "there",
        "accessible",
        "sized",
        "aged",
        "read",
        "pooled",
        "ours",
        "logged",
        "conf/spark-defaults.conf",
        "code/job.py",
        "output/own",
        "folder/a",
        "folder of an age/a",
        "taken away/a",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(ASKING_FOR_PATHS if name == "code/job.py" else name)
        (tmp_path / name).chmod(0o644)
    (tmp_path / "current").symlink_to(tmp_path / "folder")
    env = {**os.environ, "SPARK_CONF_DIR": str(tmp_path / "conf"), "PYTHONPATH": str(ROOT)}
    told = subprocess.run([sys.executable, "-c", NOTING, tmp_path], env=env, capture_output=True, text=True, check=True).stdout
    noted = {path.removeprefix(f"{tmp_path}/"): told for path, told in json.loads(told).items() if path.startswith(f"{tmp_path}/")}
    assert ("/etc/hostname" in json.loads(told)) is os.path.isfile("/etc/hostname"), "it names the machine"
    statuses = {name: (tmp_path / name).stat() for name in ("sized", "aged", "folder of an age")}
    assert noted == {
        **dict.fromkeys(("there", "accessible", "pooled"), FILE),
        **dict.fromkeys(("never", "made", "later"), ""),
        **{name: unread(status.st_size, status.st_ctime_ns) for name, status in statuses.items()},
        "folder": FOLDER,
        "read": hashlib.sha256(b"read").hexdigest(),
        "current": link(str(tmp_path / "folder")),
        "conf/spark-defaults.conf": hashlib.sha256(b"conf/spark-defaults.conf").hexdigest(),
    }
    is_there = {name: are_same({str(tmp_path / name): noted}, {}) for name, noted in noted.items()}
    assert [name for name, same in is_there.items() if not same] == ["made"], "it was not there when it was asked for"
    for name in ("there", "folder", "current"):
        (tmp_path / name).rename(tmp_path / f"{name} once")
    (tmp_path / "folder of an age" / "b").touch()
    (tmp_path / "aged").touch()
    (tmp_path / "current").symlink_to(tmp_path)
    (tmp_path / "never").mkdir()
    (tmp_path / "later").mkdir()
    others = [name for name, noted in noted.items() if not are_same({str(tmp_path / name): noted}, {})]
    assert sorted(others) == ["aged", "current", "folder", "folder of an age", "later", "made", "never", "there"]


def test_a_script_that_opens_other_files_all_the_time_is_heard_no_longer_and_that_is_a_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    paths: dict[str, str] = {}
    asked: set[str] = set()
    monkeypatch.setattr(opened, "MOST_PATHS", 2)
    monkeypatch.setattr(opened, "_asked", asked)
    for name in "abab":
        opened._keep(paths, name)
    assert (list(paths), asked) == (["a", "b"], set())
    opened._keep(paths, "c")
    assert (list(paths), asked) == (["a", "b"], {"for over 2 files"})


ELSEWHERE = """
import multiprocessing, os, socket, sqlite3, subprocess, sys, threading
from concurrent.futures import ThreadPoolExecutor
import pyarrow as pa, pyarrow.parquet
from pyarrow.parquet import read_table as table
from polars import scan_csv
import pandas

subprocess.run(["true", "secret"], check=True)
os.system("true")
with socket.socket(socket.AF_UNIX) as own:
    own.connect(sys.argv[1])
def later(rows: pa.Table) -> pa.Table:
    pandas.read_csv("rates"), open("rates"), rows.read()
    return table("rates"), pa.parquet.ParquetFile("rates"), scan_csv("rates"), pa.array([1]), pandas.read_hdf("rates")
sys.modules["called_back"].call(lambda: subprocess.run(["false"]))
sys.modules["called_back"].call(lambda: sqlite3.connect("sink.db"))
threads = [threading.Thread(target=subprocess.run, args=([name],), daemon=name == "pwd") for name in ("date", "pwd")]
sys.modules["called_back"].call(lambda: ThreadPoolExecutor().submit(subprocess.run, ["false"]).result())
for thread in threads:
    thread.start()
    thread.join()
if os.fork() == 0:
    os._exit(0)
os.wait()
os.waitpid(os.posix_spawn("/bin/false", ["false"], os.environ), 0)
spawned = multiprocessing.get_context("spawn").Process(target=os.getpid)
spawned.start()
spawned.join()
"""
ASKED_ELSEWHERE = """
import json, runpy, socket, sys, types
from pipelines.domain.run_specs import RunSpec
from pipelines.driver import callers, opened

place = sys.argv[1]
fields = {"format": 1, "run": "r", "job": "j", "version": "v", "conf": {}, "master": "", "checkpoints": "", "output": "", "args": ()}
opened.note(RunSpec(script=f"{place}/job.py", **fields))
scope = types.ModuleType("called_back")
exec(compile("def call(function): function()", f"{callers._callers[0]}clientserver.py", "exec"), vars(scope))
sys.modules["called_back"] = scope
server = socket.socket(socket.AF_UNIX)
server.bind(f"{place}/service")
server.listen()
socket.socket(socket.AF_UNIX).connect(f"{place}/service")
sys.argv = ["job.py", f"{place}/service"]
runpy.run_path(f"{place}/job.py")
assert "sink.db" not in str(opened._noted)
print(json.dumps(opened.asked()))
"""


def test_what_is_asked_elsewhere_is_noted_and_nothing_that_is_said_to_it(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(ELSEWHERE.replace("from polars", "if False:\n    from polars"))
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = subprocess.run(
        [sys.executable, "-c", ASKED_ELSEWHERE, str(tmp_path)], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    ).stdout
    unheard = ["pandas.read_hdf", "polars.scan_csv", "pyarrow.parquet.ParquetFile", "pyarrow.parquet.read_table"]
    assert json.loads(told.splitlines()[-1]) == [
        "a process of its own", "a shell", *unheard, *(f"the program {name}" for name in ("/bin/false", sys.executable, "date", "true")),
        f"the service at {tmp_path}/service",
    ]  # fmt: skip


ASKING = """
import argparse, os, sys
from os import environ
import beside

os.environ["OWN"] = "own"
for text in (os.environ["THRESHOLD"], os.getenv("FROM_GETENV"), environ.get("UNSET"), os.environb[b"BYTES"], os.environ["OWN"]):
    print(text)
"CONTAINED" in os.environ
os.path.expandvars("$EXPANDED")
os.environ["PWD"]
spark.sql("SELECT ${env:IN_SQL}")
"""
LOOKING = """
import os

settings = {name: value for name, value in os.environ.items()}
"""
HEARING = """
import json, os, runpy, sys
from pipelines.domain import read_variables
from pipelines.domain.run_specs import RunSpec
from pipelines.driver import callers, opened

place = sys.argv[1]
fields = {"format": 1, "run": "r", "job": "j", "version": "v", "conf": {}, "master": "", "checkpoints": "", "output": ""}
opened.note(RunSpec(script=f"{place}/job.py", args=("{env:GIVEN} {file:/etc/hostname}",), **fields))
os.environ["OURS"]
sys.path.insert(0, place)
runpy.run_path(f"{place}/job.py", {"spark": type("Spark", (), {"sql": print})})
noted, given = opened.variables(), json.loads(sys.argv[2])
print(json.dumps([noted, list(read_variables.others(noted, given))]))
"""
GIVEN = {name: f"{name} value" for name in ("THRESHOLD", "EXPANDED", "IN_SQL", "GIVEN", "BYTES", "OURS", "PWD", "IMPORTED")}
ASKED = {"THRESHOLD", "FROM_GETENV", "UNSET", "BYTES", "OWN", "CONTAINED", "EXPANDED", "IN_SQL", "GIVEN", "PWD", "IMPORTED"}


@pytest.mark.parametrize(
    ("script", "change", "asked", "words"),
    [
        (ASKING, {}, ASKED, []),
        (ASKING, {"OURS": None, "OTHER": "1", "PYTHONPATH": "/"}, ASKED, []),
        (ASKING, {"THRESHOLD": "2"}, ASKED, ["THRESHOLD, which is another now"]),
        (ASKING, {"IN_SQL": None, "UNSET": ""}, ASKED, ["IN_SQL, which is not set now", "UNSET, which was not set, and is now"]),
        (ASKING, {"PWD": "/", "IMPORTED": ""}, ASKED, ["IMPORTED, which is another now", "PWD, which is another now"]),
        (LOOKING, {"PWD": "/", "INVOCATION_ID": "1", "TIDEMARK_RUN": "/r"}, None, []),
        (LOOKING, {"THRESHOLD": "2", "OTHER": "1"}, None, ["all environment variables, and there are others now", "THRESHOLD, which is"]),
    ],
)
def test_the_variables_that_a_script_asks_for_are_noted_and_their_values_are_not(
    script: str, change: dict[str, str | None], asked: set[str] | None, words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text(script)
    (tmp_path / "beside.py").write_text("import os\nos.environ['IMPORTED']\n")
    given = {**{name: os.environ[name] for name in ("PATH", "HOME")}, "LC_ALL": "C.UTF-8", **GIVEN}
    now = {name: value for name, value in {**given, **change}.items() if value is not None}
    environ = {**given, "PYTHONPATH": str(ROOT), "TIDEMARK_RUN": "of one", "SHLVL": "1"}
    command = [sys.executable, "-c", HEARING, str(tmp_path), json.dumps(now)]
    told = subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    noted, others = json.loads(told)
    assert set(noted) == (asked or {"*", "GIVEN", *given} - {"PWD"})
    assert len(others) == len(words) and all(word in other for word, other in zip(words, others, strict=True)), others
    assert not any(value in told for value in GIVEN.values())
