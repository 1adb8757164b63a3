"""Files that a script reads are noted, whoever opens them for it; those of others are not."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import configparser, json, os, sys, tempfile
from pathlib import Path
import pandas
import beside

os.chdir(sys.argv[1])
json.load(open("rules.json"))
configparser.ConfigParser().read("settings.ini")
pandas.read_csv("rates.csv")
os.close(os.open("raw", os.O_RDONLY))
Path("link").read_text()
open("written", "w").close()
open("appended", "a").close()
open("gone").close()
Path("gone").unlink()
for apart in ("output/own", "code/data.txt"):
    Path(apart).read_text()
try:
    open("never")
except FileNotFoundError:
    pass
os.chdir("/")
"""
NOTING = """
import json, runpy, sys
from pipelines.domain.run_specs import RunSpec
from pipelines.driver import opened

place = sys.argv[1]
fields = {"format": 1, "run": "r", "job": "j", "version": "v", "args": (), "conf": {}, "master": "", "checkpoints": f"{place}/checkpoints"}
opened.note(RunSpec(script=f"{place}/code/job.py", output=f"{place}/output", **fields))
open(f"{place}/ours").close()
sys.path.insert(0, f"{place}/code")
runpy.run_path(f"{place}/code/job.py")
print(json.dumps(opened.files()))
"""


def test_the_files_that_a_script_reads_are_noted_by_their_bytes(tmp_path: Path) -> None:
    for name in (
        "rules.json",
        "settings.ini",
        "rates.csv",
        "raw",
        "gone",
        "ours",
        "linked",
        "output/own",
        "code/data.txt",
        "code/beside.py",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text({"rules.json": "{}", "settings.ini": "[a]", "code/beside.py": ""}.get(name, name))
    (tmp_path / "link").symlink_to(tmp_path / "linked")
    (tmp_path / "code" / "job.py").write_text(SCRIPT)
    told = subprocess.run([sys.executable, "-c", NOTING, tmp_path], capture_output=True, text=True, check=True).stdout
    read = ("linked", "rates.csv", "raw", "rules.json", "settings.ini")
    assert json.loads(told) == {str(tmp_path / name): hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in read}
