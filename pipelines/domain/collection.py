"""The collection of jobs to begin with: what each reads, how it is started, and what becomes of its state under its second version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.domain.verdicts import Outcome

STREAMS, EVENTS, FEED, KINESIS = "streams", "post_events", "http_feed", "kinesis_feed"
"""The generators, which are jobs as well."""
CONF: Mapping[str, str] = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
}
"""Good defaults for a new job: state that can be rescaled, and checkpoints that check themselves."""


DATA_ONLY: Mapping[str, str] = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}
"""Events never end, so the next file's batch closes the windows: an empty batch after each one would only double them."""
GENERATORS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    STREAMS: (("--out", "{output}"), (EVENTS,)),
    EVENTS: (("--out", "{output}", "--interval", "2"), ()),
    FEED: (("--out", "{output}", "--port", "8765"), (EVENTS, STREAMS)),
    KINESIS: (("--out", "{output}", "--serve", "8766"), (EVENTS, STREAMS)),
}
"""Arguments, and modules beside the script. A job reads a file a second: with one written every other second it catches up."""


@dataclass(frozen=True)
class Example:
    """A job of the collection. Scripts are named without their suffix; the script says in its docstring, or first comment, what it does."""

    name: str
    inputs: tuple[str, ...]
    """Streams of its generator, each a folder; the job has an argument of each name."""
    second: str
    outcome: Outcome
    """Of `second` on the state of the first version."""
    generator: str = STREAMS
    """The job that makes its inputs, for all that read of it."""
    more: tuple[str, ...] = ("--output", "{output}")
    conf: Mapping[str, str] = field(default_factory=lambda: CONF)
    beside: tuple[str, ...] = ()
    """Modules beside the script that it imports, without `.py`."""
    address: str = ""
    """What the argument is where the generator serves the input: a URL, a stream's name. Empty where it writes files."""

    suffix: str = ".py"

    @property
    def scripts(self) -> tuple[str, str]:
        """The file names of both versions."""
        return f"{self.name}{self.suffix}", f"{self.second}{self.suffix}"

    def args(self, made: str) -> tuple[str, ...]:
        """Its arguments where the generator's output is the directory `made`."""
        places = {name: self.address or (f"{made}/{name}" if self.generator == STREAMS else made) for name in self.inputs}
        return (*(word for name, place in places.items() for word in (f"--{name}", place)), *self.more)


_DATABASE = ("--database", "sqlite:{output}/engagement.sqlite", "--schema", "{job}")

COLLECTION: Mapping[str, Example] = {
    example.name: example
    for example in (
        Example("post_engagement", ("events",), "post_engagement_split", Outcome.CHANGED_MEANING, EVENTS, conf=DATA_ONLY),
        Example("sliding_windows", ("views",), "sliding_windows_readers", Outcome.NEEDS_REWRITING),
        Example("session_windows", ("views",), "session_windows_longer", Outcome.CHANGED_MEANING),
        Example("count_windows", ("readings",), "count_windows_of_ten", Outcome.CHANGED_MEANING),
        Example("silent_sensors", ("readings",), "silent_sensors_impatient", Outcome.CHANGED_MEANING),
        Example("card_fraud", ("payments",), "card_fraud_longer", Outcome.CHANGED_MEANING),
        Example("impressions_and_clicks", ("impressions", "clicks"), "impressions_and_clicks_only", Outcome.CHANGED_MEANING),
        Example("views_by_author", ("views", "pages"), "views_by_author_counted", Outcome.NEEDS_REWRITING),
        Example("views_by_author_sql", ("views", "pages"), "views_by_author_sql_counted", Outcome.NEEDS_REWRITING, more=(), suffix=".sql"),
        Example("deduplication", ("views",), "deduplication_by_page", Outcome.NEEDS_REWRITING),
        Example("top_pages", ("views",), "top_pages_by_time", Outcome.CHANGED_MEANING),
        Example("online_model", ("readings",), "online_model_forgetful", Outcome.CHANGED_MEANING),
        Example("clean_views", ("views",), "clean_views_once", Outcome.NEEDS_REWRITING),
        Example("several_queries", ("views",), "several_queries_less", Outcome.PARTLY_KEPT),
        Example(
            "engagement_to_database",
            ("events",),
            "engagement_to_database_organic",
            Outcome.CHANGED_MEANING,
            EVENTS,
            _DATABASE,
            beside=("exactly_once",),
        ),
        Example(
            "views_over_http",
            ("feed",),
            "views_over_http_longest",
            Outcome.NEEDS_REWRITING,
            FEED,
            beside=("http_log",),
            address="http://127.0.0.1:8765/views",
        ),
        Example(
            "author_lookups",
            ("partner",),
            "author_lookups_timed",
            Outcome.NEEDS_REWRITING,
            FEED,
            beside=("http_log",),
            address="http://127.0.0.1:8765",
        ),
        Example(
            "views_from_kinesis",
            ("stream",),
            "views_from_kinesis_by_reader",
            Outcome.NEEDS_REWRITING,
            KINESIS,
            ("--endpoint", "http://127.0.0.1:8766", "--output", "{output}"),
            beside=("kinesis",),
            address="views",
        ),
    )
}
