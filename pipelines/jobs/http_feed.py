"""A feed of page views over HTTP, as a partner may have one: a log of numbered rows, on a server that has bad days.

`/views?from=N&limit=M` answers the rows from number N on, at most `MOST`, and which rows there are. `/authors?page=P` answers who wrote a
page since when, and until when that is known; times are microseconds since 1970. `--trouble` is the share of answers that go wrong: an
error, "too many requests", late, cut off, with rows twice, with other rows than asked for, or of a copy that is behind.
"""

from __future__ import annotations

import argparse
import json
import random
import threading
import time
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from post_events import iso, start_time
from streams import views

MOST, BEHIND, LATE_S = 100, 25, 0.3
AUTHORS, HANDED_ON = 4, 2
"""A page has another author every so many portions."""
TROUBLES = ("error", "busy", "late", "cut", "cut unseen", "twice", "moved", "behind")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="where it notes when it began")
    parser.add_argument("--port", type=int, default=8765, help="0 for any")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--interval", type=float, default=2.0, help="seconds of event time, and of the clock, between portions")
    parser.add_argument("--files", type=int, default=0, help="highest number of portions, 0 for no end")
    parser.add_argument("--rows", type=int, default=40, help="views in a portion")
    parser.add_argument("--start", default="now", help="event time of the first portion: ISO 8601, or now")
    parser.add_argument("--keep", type=int, default=0, help="rows that it holds, 0 for all")
    parser.add_argument("--trouble", type=float, default=0.1, help="share of answers that go wrong")
    parser.add_argument("--fast", action="store_true", help="all portions are there at once")
    return parser.parse_args()


class Feed:
    """The log, which is a function of the arguments and the time."""

    def __init__(self, args: argparse.Namespace, start: datetime) -> None:
        self.args, self.start, self.chance = args, start, random.Random(args.seed)
        self.log: list[dict[str, Any]] = []
        self.portions, self.growing = 0, threading.Lock()

    def trouble(self) -> str:
        return self.chance.choice(TROUBLES) if self.chance.random() < self.args.trouble else ""

    def grow(self) -> None:
        due = int((datetime.now(UTC) - self.start).total_seconds() / self.args.interval)
        due = self.args.files if self.args.fast else min(due, self.args.files or due)
        for number in range(self.portions, due):
            rows = views(self.args.seed, number, self.args.rows)
            came = (row | {"at": iso(self.start + timedelta(seconds=row["at"] * self.args.interval))} for row in rows)
            self.log += [{"n": len(self.log) + place, **row} for place, row in enumerate(came)]
        self.portions = max(due, self.portions)

    def answer(self, at: int, limit: int, trouble: str) -> dict[str, Any]:
        with self.growing:
            self.grow()
        first, end = max(0, len(self.log) - self.args.keep) if self.args.keep else 0, len(self.log)
        end = max(first, end - BEHIND) if trouble == "behind" else end
        at, limit = (max(0, at - 7), limit // 2 + 1) if trouble == "moved" else (at, limit)
        rows = self.log[max(at, first) : min(end, at + min(limit, MOST))]
        return {"first": first, "end": end, "rows": [*rows, *rows[::-1]] if trouble == "twice" else rows}

    def authors(self, page: str, trouble: str) -> dict[str, Any]:
        with self.growing:
            self.grow()
        known = max(0, self.portions - (1 if trouble == "behind" else 0))
        first = int(page.rpartition("-")[2])
        since = range(-HANDED_ON, known + 1, HANDED_ON)
        history = [(self.micros(number), f"author-{(first + number // HANDED_ON) % AUTHORS}") for number in since]
        return {"authors": history, "until": self.micros(known)}

    def micros(self, number: int) -> int:
        return int((self.start.timestamp() + number * self.args.interval) * 1_000_000)


class Handler(BaseHTTPRequestHandler):
    feed: Feed

    def do_GET(self) -> None:
        address, trouble = urlsplit(self.path), self.feed.trouble()
        asked = dict(parse_qsl(address.query))
        if address.path == "/authors":
            answer = self.feed.authors(asked["page"], trouble)
        else:
            answer = self.feed.answer(int(asked.get("from", 0)), int(asked.get("limit", MOST)), trouble)
        body = json.dumps(answer).encode()
        if trouble in ("error", "busy"):
            self.send_response(500 if trouble == "error" else 429)
            if trouble == "busy":
                self.send_header("Retry-After", "1")
            self.end_headers()
            return
        time.sleep(LATE_S if trouble == "late" else 0)
        self.send_response(200)
        if trouble != "cut unseen":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if trouble.startswith("cut") else body)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing of each answer."""


def main() -> None:
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    Handler.feed = Feed(args, start_time(args.out, args.start))
    Handler.feed.grow()
    server = ThreadingHTTPServer(("127.0.0.1", args.port), Handler)
    print(f"http://127.0.0.1:{server.server_port}/views", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
