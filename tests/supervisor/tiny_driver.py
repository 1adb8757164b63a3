"""A driver without Spark, as a real process: what it does is the first argument of its run's version."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def write_exit(folder: Path, reason: str, code: int, error_class: str = "", message: str = "", query: str = "") -> None:
    aside = folder / ".exit.tmp"
    ending = {"reason": reason, "code": code, "error_class": error_class, "message": message, "at_ms": time.time_ns() // 1_000_000}
    if query:
        ending["query"] = query
    aside.write_text(json.dumps(ending))
    aside.replace(folder / "exit.json")
    sys.exit(code)


def append(folder: Path, name: str, line: dict) -> None:
    with (folder / name).open("a") as file:
        file.write(json.dumps(line, separators=(",", ":")) + "\n")


def start_query(folder: Path, spec: dict, trigger: str = "") -> None:
    append(
        folder,
        "queries.jsonl",
        {
            "query": "counts",
            "query_id": "q",
            "run_id": "s",
            "checkpoint": f"{spec['checkpoints']}/counts",
            "sink": "noop",
            "sink_path": "",
            "ui_url": "http://127.0.0.1:4040",
            "spark_version": "4.3.0",
            "at_ms": 1,
            **({"trigger": {"kind": trigger, "interval_ms": 0}} if trigger else {}),
        },
    )


def plan_batch(spec: dict, *, commits: bool) -> None:
    """One more batch in the query's offset log; with `commits` those before it are in the commit log. Batch 4 reads a new partition."""
    checkpoint = Path(spec["checkpoints"], "counts")
    for log in ("offsets", "commits"):
        (checkpoint / log).mkdir(parents=True, exist_ok=True)
    planned = len(list((checkpoint / "offsets").iterdir()))
    done = len(list((checkpoint / "commits").iterdir()))
    if commits and planned > done:
        (checkpoint / "commits" / str(done)).write_text("v1\n{}")
    if commits or planned == done:
        offset = {"clicks": {"0": 10 * (planned + 1), "1": 5, **({"2": 7} if planned == 4 else {})}}
        (checkpoint / "offsets" / str(planned)).write_text("v1\n" + json.dumps({"batchWatermarkMs": 0}) + "\n" + json.dumps(offset))


def main() -> None:
    folder = Path(sys.argv[1])
    spec = json.loads((folder / "run.json").read_text())
    deed = spec["args"][0]
    print(f"tiny driver: {deed}", flush=True)
    if deed == "finish":
        write_exit(folder, "finished", 0)
    if deed == "fail":
        write_exit(folder, "failed", 1, "DIVIDE_BY_ZERO", "Division by zero")
    if deed == "leave":
        os._exit(3)
    if deed == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: write_exit(folder, "stopped", 0))
    if deed == "query":
        start_query(folder, spec)
    if deed in ("crash", "crash-on", "crash-once"):
        start_query(folder, spec, "available-now" if deed == "crash-once" else "")
        plan_batch(spec, commits=deed == "crash-on")
        write_exit(folder, "failed", 1, "DIVIDE_BY_ZERO", "query counts: Division by zero", "counts")
    if deed == "die":  # in the middle of a batch, without a word
        start_query(folder, spec)
        plan_batch(spec, commits=False)
        os._exit(134)
    if deed == "parent":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        (folder / "child.pid").write_text(str(child.pid))
    if deed == "greedy":
        start_query(folder, spec)
        child = subprocess.Popen([sys.executable, "-c", "import time; held = bytearray(b'x') * (1200 << 20); time.sleep(600)"])
        (folder / "child.pid").write_text(str(child.pid))
    (folder / "ready").touch()
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
