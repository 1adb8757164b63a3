"""A Kinesis for tests: moto's server in a thread of this process, whose backend is at hand to let records grow old."""

from __future__ import annotations

import argparse
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tests.jobs.feeds import START
from tests.jobs.loading import script

STREAM, REGION = "views", "us-east-1"


@dataclass(frozen=True)
class Kinesis:
    """The endpoint, and a stream of the feed's views in it."""

    endpoint: str
    client: Any
    stream: Any
    """As moto keeps it."""

    def feed(self, first: int, end: int) -> None:
        """Puts the feed's portions, of twenty seconds each."""
        module = script("kinesis_feed")
        args = argparse.Namespace(seed=7, interval=20.0, rows=40)
        for number in range(first, end):
            module["put"](self.client, STREAM, list(module["portion"](args, number, datetime.fromisoformat(START))))

    def reader(self, **options: str) -> Any:
        return script("kinesis")["KinesisReader"]({"stream": STREAM, **self.place, **options})

    @property
    def place(self) -> dict[str, str]:
        return {"endpoint": self.endpoint, "region": REGION, "anonymous": "true"}

    def rows(self, shard: str) -> list[str]:
        """The sequence numbers of a shard's records."""
        return [str(number) for number in self.stream.shards[shard].records]

    def split(self, shard: str) -> None:
        """As Kinesis does it: what the shard has stays in it. moto moves it into the new ones."""
        old = self.stream.shards[shard]
        kept = OrderedDict(old.records)
        middle = (old.starting_hash + old.ending_hash) // 2
        before = set(self.stream.shards)
        self.client.split_shard(StreamName=STREAM, ShardToSplit=shard, NewStartingHashKey=str(middle))
        self._keep({shard: kept}, before)

    def merge(self, shard_id: str, other: str) -> None:
        kept = {shard: OrderedDict(self.stream.shards[shard].records) for shard in (shard_id, other)}
        before = set(self.stream.shards)
        self.client.merge_shards(StreamName=STREAM, ShardToMerge=shard_id, AdjacentShardToMerge=other)
        self._keep(kept, before)

    def _keep(self, kept: dict[str, Any], before: set[str]) -> None:
        """moto puts a record into the first shard that fits its key: that is an open one."""
        for name, shard in self.stream.shards.items():
            shard.records = kept.get(name, shard.records) if name in before else OrderedDict()
        self.stream.shards = dict(sorted(self.stream.shards.items(), key=lambda named: not named[1].is_open))

    def age(self, hours: int) -> None:
        """All records have come so much earlier, and those that the stream no longer keeps are gone."""
        horizon = timedelta(hours=self.stream.retention_period_hours)
        for shard in self.stream.shards.values():
            for number, record in list(shard.records.items()):
                record.created_at_datetime -= timedelta(hours=hours)
                record.created_at -= hours * 3_600
                if now(record) - record.created_at_datetime > horizon:
                    del shard.records[number]


def now(record: Any) -> datetime:
    return datetime.now(record.created_at_datetime.tzinfo)


@contextmanager
def serving(shards: int = 3) -> Iterator[Kinesis]:
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.kinesis.models import kinesis_backends
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        module = script("kinesis_feed")
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        client = module["client"](endpoint)
        client.create_stream(StreamName=STREAM, ShardCount=shards)
        yield Kinesis(endpoint, client, kinesis_backends[DEFAULT_ACCOUNT_ID][REGION].streams[STREAM])
        client.delete_stream(StreamName=STREAM)
    finally:
        server.stop()
