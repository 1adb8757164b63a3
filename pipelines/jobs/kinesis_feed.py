"""Page views in a Kinesis stream: AWS's own, or one that it serves itself, with moto, to try things out.

The views are those of `streams.py`, portion by portion, under their readers as keys. A feed that begins again puts everything into a
stream that it serves itself, and goes on with the present time in any other.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import botocore.session
from post_events import iso, start_time
from streams import views

REGION, ANYBODY = "us-east-1", ("anonymous", "anonymous")
MOST = 500
"""Records of one call, by Kinesis's own rules."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="where it notes when it began")
    parser.add_argument("--stream", default="views")
    parser.add_argument("--serve", type=int, default=0, help="port of a Kinesis of its own (needs moto[server]); 0 for AWS's")
    parser.add_argument("--shards", type=int, default=2, help="of a stream that it makes")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--interval", type=float, default=2.0, help="seconds of event time, and of the clock, between portions")
    parser.add_argument("--rows", type=int, default=40, help="views in a portion")
    parser.add_argument("--start", default="now", help="event time of the first portion: ISO 8601, or now")
    return parser.parse_args()


def portion(args: argparse.Namespace, number: int, start: datetime) -> Iterator[dict[str, Any]]:
    """The records of a portion as Kinesis takes them."""
    for row in views(args.seed, number, args.rows):
        view = row | {"at": iso(start + timedelta(seconds=row["at"] * args.interval))}
        yield {"Data": json.dumps(view).encode(), "PartitionKey": row["reader"]}


def put(client: Any, stream: str, records: list[dict[str, Any]]) -> None:
    """Those that Kinesis refuses are put again: it takes each by itself."""
    while records:
        answer = client.put_records(StreamName=stream, Records=records[:MOST])
        refused = [record for record, told in zip(records, answer["Records"], strict=False) if "ErrorCode" in told]
        records = refused + records[MOST:]


def serve(port: int) -> Any:
    """A client of a Kinesis that this process serves."""
    try:
        from moto.server import ThreadedMotoServer
    except ImportError as missing:
        raise SystemExit("--serve needs the package moto: python3 -m pip install 'moto[server]'") from missing
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it tells of each request
    ThreadedMotoServer("127.0.0.1", port, verbose=False).start()
    return client(f"http://127.0.0.1:{port}")


def client(endpoint: str = "") -> Any:
    """Of AWS as it is set up on this machine, or of a Kinesis that looks at no credentials."""
    session = botocore.session.get_session()
    if not endpoint:
        return session.create_client("kinesis")
    session.set_credentials(*ANYBODY)
    return session.create_client("kinesis", endpoint_url=endpoint, region_name=REGION)


def main() -> None:
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    start, kinesis = start_time(args.out, args.start), serve(args.serve) if args.serve else client()
    if args.stream not in kinesis.list_streams()["StreamNames"]:
        kinesis.create_stream(StreamName=args.stream, ShardCount=args.shards)
        kinesis.get_waiter("stream_exists").wait(StreamName=args.stream)
    now = int((datetime.now(UTC) - start).total_seconds() / args.interval)
    number = 0 if args.serve else now
    while True:
        put(kinesis, args.stream, list(portion(args, number, start)))
        number += 1
        time.sleep(max(0.0, (start + timedelta(seconds=number * args.interval) - datetime.now(UTC)).total_seconds()))


if __name__ == "__main__":
    main()
