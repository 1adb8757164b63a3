"""The events of a social network that never was: views and clicks of posts, some of them promoted from a moment on.

Each file is a function of the arguments and its number alone, so any stretch of the stream can be made again. Event time is
the network's own clock: file k covers `--interval` seconds from `start + k * interval`. A generator that begins again goes on
after the highest file it finds.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

DISORDER_S = 4.0
LATE_S = (45.0, 120.0)
PAID_SHARE = 0.8
"""Paid events of all promoted posts together, as a share of the organic traffic."""
RAMP_S = 30.0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rate", type=float, default=400.0, help="organic events per second, on average")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--interval", type=float, default=1.0, help="seconds of events in a file, and between files")
    parser.add_argument("--files", type=int, default=0, help="highest number of files, 0 for no end")
    parser.add_argument("--start", default="now", help="event time of the first file: ISO 8601, or now")
    parser.add_argument("--posts", type=int, default=40)
    parser.add_argument("--promote-after", type=float, default=60.0, help="seconds of event time before promotion begins")
    parser.add_argument("--late", type=float, default=0.02, help="share of events that come too late")
    parser.add_argument("--fast", action="store_true", help="do not wait between files")
    return parser.parse_args()


class Posts:
    """The posts, the same for one seed: how popular each is, how its traffic swings, how often it is clicked, whether it is sold."""

    def __init__(self, seed: int, count: int) -> None:
        chance = random.Random(f"posts:{seed}")
        self.names = [f"post-{number:03d}" for number in range(count)]
        self.weights = [1 / (rank + 2) ** 0.8 for rank in range(count)]
        chance.shuffle(self.weights)
        self.swings = [(chance.uniform(60, 240), chance.uniform(0, math.tau)) for _ in self.names]
        self.click_rates = [chance.uniform(0.05, 0.2) for _ in self.names]
        self.promoted = sorted(chance.sample(range(count), max(1, count // 5)))

    def weights_at(self, second: float) -> list[float]:
        """Each post's share of the traffic: its popularity, swinging in its own rhythm."""
        return [
            weight * (1 + 0.7 * math.sin(math.tau * second / period + phase))
            for weight, (period, phase) in zip(self.weights, self.swings, strict=True)
        ]


def wave(second: float) -> float:
    """The network's traffic over time, 1 on average."""
    return 1 + 0.4 * math.sin(math.tau * second / 180) + 0.15 * math.sin(math.tau * second / 41)


def paid_share(second: float, promote_after: float) -> float:
    """Paid traffic grows from nothing when promotion begins."""
    return PAID_SHARE * min(1.0, max(0.0, second - promote_after) / RAMP_S)


def events_of_file(number: int, start: datetime, posts: Posts, args: argparse.Namespace) -> list[dict[str, object]]:
    """The events that file `number` holds, in the order in which they came in."""
    chance = random.Random(f"file:{args.seed}:{number}")
    second = number * args.interval
    weights = posts.weights_at(second)
    organic = round(args.rate * args.interval * wave(second))
    paid = round(organic * paid_share(second, args.promote_after))
    drawn = [(post, False) for post in chance.choices(range(args.posts), weights, k=organic)]
    drawn += [(post, True) for post in chance.choices(posts.promoted, k=paid)]
    chance.shuffle(drawn)
    return [event(number, place, post, sold, chance, start, posts, args) for place, (post, sold) in enumerate(drawn)]


def event(
    number: int, place: int, post: int, sold: bool, chance: random.Random, start: datetime, posts: Posts, args: argparse.Namespace
) -> dict[str, object]:
    """One event; it happened a little before its file was written, a late one long before."""
    second = (number + chance.random()) * args.interval - chance.expovariate(1.0) % DISORDER_S
    if chance.random() < args.late:
        second -= chance.uniform(*LATE_S)
    sold = sold and second >= args.promote_after
    return {
        "event_id": f"{number:08d}-{place:05d}",
        "event_time": iso(start + timedelta(seconds=second)),
        "post": posts.names[post],
        "kind": "click" if chance.random() < posts.click_rates[post] else "view",
        "promoted": sold,
        "user": f"user-{chance.randrange(20_000):05d}",
    }


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def start_time(out: Path, asked: str) -> datetime:
    """Kept beside the files by the first start: those that follow go on in the same time."""
    kept = out / ".start.json"
    if not kept.exists():
        start = datetime.now(UTC) if asked == "now" else datetime.fromisoformat(asked)
        start = start if start.tzinfo else start.replace(tzinfo=UTC)
        write_whole(kept, json.dumps({"start": iso(start)}))
    return datetime.fromisoformat(json.loads(kept.read_text())["start"])


def write_whole(path: Path, text: str, modified_ms: int = 0) -> None:
    """Under a hidden name, then renamed: Spark never lists half a file, nor one without its time."""
    hidden = path.with_name(f".{path.name}.tmp")
    hidden.write_text(text)
    if modified_ms:
        os.utime(hidden, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))
    hidden.replace(path)


def main() -> None:
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    start, posts = start_time(args.out, args.start), Posts(args.seed, args.posts)
    written = sorted(args.out.glob("events-*.json"))
    number = int(written[-1].stem.removeprefix("events-")) + 1 if written else 0
    modified_ms = written[-1].stat().st_mtime_ns // 1_000_000 if written else 0
    due = time.monotonic()
    while args.files == 0 or number < args.files:
        lines = (json.dumps(one, separators=(",", ":")) for one in events_of_file(number, start, posts, args))
        modified_ms = max(time.time_ns() // 1_000_000, modified_ms + 1)  # Spark's file source takes files by their time
        write_whole(args.out / f"events-{number:08d}.json", "\n".join(lines) + "\n", modified_ms)
        number += 1
        due += args.interval
        if not args.fast:
            time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main()
