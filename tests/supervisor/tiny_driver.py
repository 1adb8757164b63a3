"""A driver without Spark, as a real process: what it does is the first argument of its run's version."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def write_exit(folder: Path, reason: str, code: int, error_class: str = "", message: str = "") -> None:
    aside = folder / ".exit.tmp"
    ending = {"reason": reason, "code": code, "error_class": error_class, "message": message, "at_ms": time.time_ns() // 1_000_000}
    aside.write_text(json.dumps(ending))
    aside.replace(folder / "exit.json")
    sys.exit(code)


def append(folder: Path, name: str, line: dict) -> None:
    with (folder / name).open("a") as file:
        file.write(json.dumps(line, separators=(",", ":")) + "\n")


def start_query(folder: Path, spec: dict) -> None:
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
        },
    )


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
    if deed == "parent":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        (folder / "child.pid").write_text(str(child.pid))
    (folder / "ready").touch()
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
