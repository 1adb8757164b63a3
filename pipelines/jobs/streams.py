"""Seeded input for the collection of jobs: pages that are read, advertisements, payments, and sensors.

Each stream is a folder of JSON files below `--out`; file k holds what came in during second `k * interval` and those after it, and is a
function of the arguments and its number alone. A generator that begins again goes on after the highest file it finds.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from post_events import iso, start_time, write_whole

PAGES, READERS, SENSORS, CARDS = 12, 30, 6, 15
CAMPAIGNS = ("spring", "summer", "autumn")
DOUBLED, LATE, CLICKED, FRAUD = 0.1, 0.03, 0.3, 0.02
"""Shares: of views that come twice, of views that come late, of impressions that are clicked, of payments that begin a fraud."""
CLICK_AFTER, USED_AFTER = (0.2, 3.0), (0.2, 4.0)
"""In files: how long after its impression a click comes, and how long after a stolen card was tried it is used."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--interval", type=float, default=2.0, help="seconds of event time in a file, and between files")
    parser.add_argument("--files", type=int, default=900, help="highest number of files of each stream, 0 for no end")
    parser.add_argument("--rows", type=int, default=40, help="rows in a file")
    parser.add_argument("--start", default="now", help="event time of the first files: ISO 8601, or now")
    parser.add_argument("--fast", action="store_true", help="do not wait between files")
    return parser.parse_args()


Rows = Iterator[dict[str, Any]]
"""`at` is in files since the start; it becomes a time when it is written."""


def views(seed: int, number: int, rows: int) -> Rows:
    """Pages that readers look at. Some views come twice, a little later; some come late; some have no page."""
    chance = random.Random(f"views:{seed}:{number}")
    for place in range(rows):
        behind = chance.uniform(2, 6) if chance.random() < LATE else 0
        page = f"page-{min(chance.randrange(PAGES), chance.randrange(PAGES)):02d}" if chance.random() > 0.02 else None
        reader = f"reader-{(chance.randrange(8) + number // 4 * 5) % READERS:02d}"
        row = {"view": f"{number}-{place}", "at": number + place / rows - behind, "page": page, "reader": reader}
        row["seconds"] = round(chance.expovariate(1 / 20), 1)
        yield row
        if chance.random() < DOUBLED:
            yield row


def impressions(seed: int, number: int, rows: int) -> Rows:
    chance = random.Random(f"impressions:{seed}:{number}")
    for place in range(rows):
        yield {"impression": f"{number}-{place}", "at": number + place / rows, "campaign": chance.choice(CAMPAIGNS)}


def clicks(seed: int, number: int, rows: int) -> Rows:
    """Of the impressions of this file and those before it: the clicks that come in now."""
    for before in range(max(0, number - int(CLICK_AFTER[1]) - 1), number + 1):
        chance = random.Random(f"clicks:{seed}:{before}")
        for shown in impressions(seed, before, rows):
            is_clicked, after = chance.random() < CLICKED, chance.uniform(*CLICK_AFTER)
            if is_clicked and int(shown["at"] + after) == number:
                yield {"impression": shown["impression"], "at": shown["at"] + after}


def payments(seed: int, number: int, rows: int) -> Rows:
    """Payments by card, in order. Now and then a stolen card is tried with a small sum, and some time later used for a large one."""
    chance = random.Random(f"payments:{seed}:{number}")
    came = [
        {"card": f"card-{chance.randrange(CARDS):02d}", "at": number + place / rows, "amount": round(chance.uniform(5, 90), 2)}
        for place in range(rows)
    ]
    for before in range(max(0, number - int(USED_AFTER[1]) - 1), number + 1):
        came += [row for row in frauds(seed, before, rows) if int(row["at"]) == number]
    yield from sorted(came, key=lambda row: row["at"])


def frauds(seed: int, number: int, rows: int) -> Rows:
    """The payments with cards that are tried in file `number`, whenever they come in."""
    chance = random.Random(f"frauds:{seed}:{number}")
    for place in range(rows):
        if chance.random() < FRAUD:
            card, tried = f"stolen-{number}-{place}", number + (place + 0.5) / rows
            yield {"card": card, "at": tried, "amount": round(chance.uniform(0.5, 1), 2)}
            yield {"card": card, "at": tried + chance.uniform(*USED_AFTER), "amount": round(chance.uniform(600, 900), 2)}


def readings(seed: int, number: int, rows: int) -> Rows:
    """Temperatures by sensor, in order. A sensor is silent for five files now and then; one reading in fifty is far off."""
    chance = random.Random(f"readings:{seed}:{number}")
    for place in range(rows):
        sensor = place % SENSORS
        celsius = 15 + sensor + chance.gauss(0, 1) + (25 if chance.random() < 0.02 else 0)
        if random.Random(f"silent:{seed}:{sensor}:{number // 5}").random() > 0.25:
            yield {"sensor": f"sensor-{sensor}", "at": number + place / rows, "celsius": round(celsius, 2)}


STREAMS = {"views": views, "impressions": impressions, "clicks": clicks, "payments": payments, "readings": readings}


def text(rows: Rows, start: datetime, interval: float) -> str:
    lines = (row | {"at": iso(start + timedelta(seconds=row["at"] * interval))} for row in rows)
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def write_pages(folder: Path) -> None:
    """What does not change: who wrote which page."""
    folder.mkdir(exist_ok=True)
    lines = (json.dumps({"page": f"page-{page:02d}", "author": f"author-{page % 4}"}) for page in range(PAGES - 1))
    write_whole(folder / "pages.json", "\n".join(lines) + "\n")


def main() -> None:
    args = arguments()
    for name in STREAMS:
        (args.out / name).mkdir(parents=True, exist_ok=True)
    start = start_time(args.out, args.start)
    write_pages(args.out / "pages")
    written = [int(file.stem) for file in (args.out / "views").glob("[0-9]*.json")]
    number, due, modified_ms = max(written, default=-1) + 1, time.monotonic(), 0
    while args.files == 0 or number < args.files:
        modified_ms = max(time.time_ns() // 1_000_000, modified_ms + 1)  # Spark's file source takes files by their time
        for name, rows in reversed(STREAMS.items()):  # views last: a file of theirs says that all streams have it
            write_whole(args.out / name / f"{number:08d}.json", text(rows(args.seed, number, args.rows), start, args.interval), modified_ms)
        number, due = number + 1, due + args.interval
        if not args.fast:
            time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main()
