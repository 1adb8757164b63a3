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
open("password").read()
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
    read = ("linked", "rates.csv", "raw", "rules.json", "settings.ini")
    for name in (*read, "password", "gone", "ours", "output/own", "code/data.txt", "code/beside.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text({"rules.json": "{}", "settings.ini": "[a]", "code/beside.py": ""}.get(name, name))
        (tmp_path / name).chmod(0o644)
    (password := tmp_path / "password").chmod(0o600)
    (tmp_path / "link").symlink_to(tmp_path / "linked")
    (tmp_path / "code" / "job.py").write_text(SCRIPT)
    told = subprocess.run([sys.executable, "-c", NOTING, tmp_path], capture_output=True, text=True, check=True).stdout
    noted = {path: digest for path, digest in json.loads(told).items() if path.startswith(f"{tmp_path}/")}
    assert noted.pop(str(password)) == f"8 bytes of {password.stat().st_ctime_ns}", "no hash of a password"
    assert noted == {str(tmp_path / name): hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in read}
