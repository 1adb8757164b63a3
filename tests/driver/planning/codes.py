"""Code of stateful queries with its variants: each with the verdict that it must have, and with what happens where it goes on.

`{input}` is a folder of JSON files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.domain.plain_json import rebuilt
from pipelines.domain.run_specs import RunSpec
from pipelines.domain.verdicts import Outcome

SAME, CHANGED, REWRITE, PARTLY, START, TELL = (
    Outcome.SAME,
    Outcome.CHANGED_MEANING,
    Outcome.NEEDS_REWRITING,
    Outcome.PARTLY_KEPT,
    Outcome.CANNOT_START,
    Outcome.CANNOT_TELL,
)
HEAD = """
from pyspark.sql import functions as F
def source():
    return spark.readStream.schema("k string, v int, w int, t timestamp").option("maxFilesPerTrigger", 1).json("{input}")
events = source().withWatermark("t", "10 minutes")
"""


def spec(**told: str) -> RunSpec:
    """A run of nothing, but for what is told."""
    texts = dict.fromkeys(("run", "job", "version", "script", "master", "checkpoints", "output"), "")
    return rebuilt(RunSpec, {**texts, "format": 1, "args": (), "conf": {}, **told})


@dataclass(frozen=True)
class Variant:
    """What is changed (text, other text), the verdict, and a word that its reason must have."""

    name: str
    changes: tuple[tuple[str, str], ...]
    outcome: Outcome
    says: str = ""
    noted: Mapping[str, str] = field(default_factory=dict)
    """Packages that were noted in another version than is installed."""
    shows: bool = True
    """Of a changed meaning: whether the next three rows show it."""

    def of(self, code: str) -> str:
        for text, other in self.changes:
            assert text in code, (self.name, text)
            code = code.replace(text, other)
        return code


@dataclass(frozen=True)
class Case:
    """A stateful query, and how its code may change."""

    name: str
    code: str
    mode: str
    variants: tuple[Variant, ...]
    rocksdb_only: bool = False


def variant(name: str, outcome: Outcome, *changes: str, says: str = "", shows: bool = True) -> Variant:
    return Variant(name, tuple(zip(changes[::2], changes[1::2], strict=True)), outcome, says, shows=shows)


ON_EVERY = (
    variant("nothing", SAME),
    variant("comments", SAME, "events =", "# a comment\n\nevents ="),
    variant("a frame's name", SAME, "events", "late_events"),
    variant("pace", SAME, '"maxFilesPerTrigger", 1', '"maxFilesPerTrigger", 3'),
    variant("filter before", CHANGED, "events = source()", "events = source().where('v > 1')", says="v > 1"),
    variant("watermark", CHANGED, "10 minutes", "20 minutes", says="20 minutes", shows=False),
    variant("column read", CHANGED, "k string, v int, w int", "k string, w int, v int", shows=False),
    variant("one source more", REWRITE, "events = source()", "events = source().union(source())", says="is new"),
    variant("other folder", REWRITE, "{input}", "{input}2", says="is not read any more"),
    variant("stateless", PARTLY, "df =", "kept = ", "\n#end", "\ndf = source().select('k')", says="is dropped"),
)
AGGREGATION = Case(
    "aggregation",
    HEAD
    + """
RATE = 1
def helper(x):
    return x + RATE
@F.udf("long")
def price(x):
    return helper(x)
df = events.groupBy("k", F.window("t", "5 minutes")).agg(F.sum(price("v")).alias("s"))
#end""",
    "Update",
    (
        *ON_EVERY,
        variant("output name", SAME, 'alias("s")', 'alias("total")'),
        variant("key's name", SAME, 'groupBy("k"', 'groupBy(F.col("k").alias("key")'),
        variant("function's name", SAME, "price", "cost"),
        variant("its argument's name", SAME, "price(x):\n    return helper(x)", "price(value):\n    return helper(value)"),
        variant("helper's argument's name", SAME, "helper(x):\n    return x", "helper(value):\n    return value"),
        variant("split filter, none", SAME, "groupBy", 'select("*").groupBy'),
        variant("filter after", SAME, "\n#end", "\ndf = df.where('s > 0')"),
        variant("sorted after", START, "\n#end", "\ndf = df.orderBy('s')", says="Sorting is not supported"),
        variant("observed", SAME, "events.groupBy", "events.observe('checks', F.count('*').alias('n'), F.avg('v')).groupBy"),
        variant("sum to count", CHANGED, "F.sum", "F.count", says="count(price(v))"),
        variant("sum to max", CHANGED, "F.sum", "F.max", says="computes: sum(price(v)) AS s before"),
        variant("body", CHANGED, "return helper(x)", "return helper(x) * 2", says="price"),
        variant("helper's body", CHANGED, "x + RATE", "x - RATE", says="helper"),
        variant("a global", CHANGED, "RATE = 1", "RATE = 2", says="RATE was 1, is 2"),
        variant("window", CHANGED, '"5 minutes"', '"6 minutes"', says="window"),
        variant("column", CHANGED, 'price("v")', 'price("w")', says="price(w)"),
        variant("one aggregate more", REWRITE, '.alias("s"))', '.alias("s"), F.count("v").alias("n"))', says="count"),
        variant("other key", REWRITE, 'groupBy("k", ', "groupBy(", says="key"),
        variant("wider", REWRITE, 'F.sum(price("v"))', 'F.sum(price("v").cast("double"))', says="double"),
        variant("deduplicated before", REWRITE, "events.groupBy", 'events.dropDuplicates(["k", "t"]).groupBy'),
        variant("deduplicated instead", REWRITE, "df =", "kept = ", "\n#end", '\ndf = events.dropDuplicates(["k", "t"])', says="dedupe"),
        variant("file", CHANGED, "return x + RATE", "return x + RATE if x else len(open('/etc/hostname').read())", shows=False),
        variant(
            "an aggregate that nothing reads",
            SAME,
            '.alias("s"))',
            '.alias("s"), F.max("w").alias("m")).drop("m")',
            says="what it puts out",
        ),
    ),
)
PACKAGE = Case(
    "a function of a package",
    HEAD
    + """
import numpy
class Model:
    def __init__(self):
        self.weights = numpy.ones(3)
    def predict(self, x):
        return x + int(self.weights.sum())
model = Model()
@F.udf("int")
def price(x):
    return model.predict(x)
df = events.groupBy("k").agg(F.sum(price("v")).alias("s"))
#end""",
    "Update",
    (
        variant("nothing", SAME),
        Variant("another version of the package", (), TELL, "numpy, which was 0.1 and is", {"numpy": "0.1"}),
        Variant("no version was noted", (), TELL, "numpy, whose version was not noted", {"numpy": ""}),
        Variant("another version of another package", (), SAME, "", {"pandas": "0.1"}),
        variant("an array", CHANGED, "numpy.ones(3)", "numpy.ones(4)"),
        variant("a method", CHANGED, "return x + int", "return x - int", says="predict"),
        variant("a literal", CHANGED, "model.predict(x)", "model.predict(x + 1)"),
    ),
)
BROADCAST = Case(
    "a broadcast variable and an accumulator",
    HEAD
    + """
RATES = {"a": 2, "b": 3}
TABLE = ""
rates, seen = spark.sparkContext.broadcast(RATES), spark.sparkContext.accumulator(0)
@F.udf("int")
def price(k, v):
    seen.add(1)
    return v * rates.value.get(k, 1) + len(TABLE)
df = events.groupBy("k").agg(F.sum(price("k", "v")).alias("s"))
#end""",
    "Update",
    (
        variant("nothing", SAME),
        variant("its value", CHANGED, '"a": 2', '"a": 4', says="rates"),
        variant("body", CHANGED, "return v", "return 2 * v", says="price"),
        variant("a function so large that Spark broadcasts it", CHANGED, 'TABLE = ""', 'TABLE = "x" * 2_000_000', says="TABLE"),
    ),
    rocksdb_only=True,
)
READER = Case(
    "a function that may read a file through a package",
    HEAD
    + """
import numpy
@F.udf("int")
def price(x):
    return x if x else int(numpy.load("no/such.npy")[0])
df = events.groupBy("k").agg(F.sum(price("v")).alias("s"))
#end""",
    "Update",
    (variant("nothing", TELL, says="numpy.load"),),
    rocksdb_only=True,
)
BESIDE = Case(
    "a stream beside it",
    HEAD
    + """
counts = events.groupBy("k", F.window("t", "5 minutes")).agg(F.sum("v").alias("s")).select("k", "s")
other = source().withWatermark("t", "1 hour").select("k", F.col("v").cast("long").alias("s"))
df = counts.union(other)
#end""",
    "Append",
    (
        variant("nothing", SAME),
        variant("its watermark", CHANGED, "1 hour", "1 second", says="watermark beside it: t, 1 hours before"),
        variant("what its watermark is of", CHANGED, "other = source()", "other = source().where('v < 0')"),
        variant("what it puts out", SAME, "#end", "df = df.withColumnRenamed('s', 'total')"),
    ),
)
FILES = Case(
    "joined to files",
    HEAD
    + """
from pathlib import Path
dims = Path("{input}-dims")
if not dims.exists():
    dims.mkdir()
    (dims / "1.csv").write_text("a,2\\nb,3\\nc,4\\n")
#changed
rates = spark.read.schema("k string, rate int").csv(str(dims))
df = events.join(rates, "k").groupBy("k").agg(F.sum(F.expr("v * rate")).alias("s"))
#end""",
    "Update",
    (
        variant("nothing", SAME),
        variant("how they are read", CHANGED, ".csv(", '.option("header", True).csv('),
        variant("a file changed", TELL, "#changed", '(dims / "2.csv").write_text("z,1")', says="files at file:"),
    ),
)
COMMON = Case(
    "a cached frame, lambdas, the clock and chance",
    HEAD
    + """
from pathlib import Path
dims = Path("{input}-dims")
if not dims.exists():
    spark.createDataFrame([("a", 2), ("b", 3), ("c", 4)], "k string, rate int").write.parquet(str(dims))
rates = spark.read.parquet(str(dims)).where("rate > 0").cache()
rates.count()
dated = events.where("current_date() > '2020-01-01'").withColumn("seen", F.current_timestamp()).withColumn("chance", F.rand())
both = F.aggregate(F.transform(F.array("v", "w"), lambda x: x + 1), F.lit(0), lambda a, b: a + b)
kept = dated.join(rates, "k").groupBy("k")
counts = kept.agg(
    F.sum(both * F.col("rate")).alias("s"), F.count("chance").alias("n"), F.max("seen").alias("last"), F.max(F.now()).alias("now")
)
df = counts.selectExpr("k", "s", "n", "last > '2020-01-01' AND now > '2020-01-01' AS late")
#end""",
    "Update",
    (
        variant("nothing", SAME),
        variant("cached rows", CHANGED, "rate > 0", "rate > 2"),
        variant("a lambda", CHANGED, "x + 1", "x + 2"),
        variant("a date", CHANGED, "> '2020-01-01'\")", "> '2021-01-01'\")", says="2021-01-01", shows=False),
    ),
    rocksdb_only=True,
)
JOIN = Case(
    "join",
    HEAD
    + """
right = source().withWatermark("t", "10 minutes").alias("b")
df = events.alias("a").join(right, F.expr("a.k = b.k and b.t between a.t and a.t + interval 1 minutes"))
#end""",
    "Append",
    (
        variant("nothing", SAME),
        variant("comment", SAME, "df =", "# joined\ndf ="),
        variant("condition", CHANGED, "1 minutes", "2 minutes", says="joins"),
        Variant(
            "condition, and columns in another place",
            (("1 minutes", "2 minutes"), ("right = source()", 'right = source().select("k", "w", "v", "t")')),
            CHANGED,
            says="places, and what stands there is another now.",
        ),
        variant("type", CHANGED, 'minutes"))', 'minutes"), "left")', says="left", shows=False),
        variant("filter on one side", CHANGED, "right = source()", "right = source().where('v > 1')", says="v > 1"),
        variant("other key", REWRITE, "a.k = b.k", "a.v = b.v"),
    ),
)
DEDUPLICATION = Case(
    "deduplication",
    HEAD + 'df = events.dropDuplicates(["k", "t"])\n#end',
    "Append",
    (
        *ON_EVERY[:6],
        variant("other key", REWRITE, '["k", "t"]', '["v", "t"]'),
        variant("within the watermark", REWRITE, 'dropDuplicates(["k", "t"])', 'dropDuplicatesWithinWatermark(["k", "t"])'),
        variant("renamed after", SAME, "\n#end", '\ndf = df.withColumnRenamed("v", "value")'),
    ),
)
WITHIN = Case(
    "deduplication within the watermark",
    HEAD + 'df = events.dropDuplicatesWithinWatermark(["k"])\n#end',
    "Append",
    (
        *ON_EVERY[:6],
        variant("other key", REWRITE, '["k"]', '["v"]'),
        variant("over the whole time", REWRITE, 'dropDuplicatesWithinWatermark(["k"])', 'dropDuplicates(["k", "t"])'),
    ),
)
LIMIT = Case(
    "limit",
    HEAD + 'df = events.select("k", "v").limit(5)\n#end',
    "Append",
    (
        variant("nothing", SAME),
        variant("comments", SAME, "events =", "# a comment\n\nevents ="),
        variant("a frame's name", SAME, "events", "late_events"),
        variant("filter before", CHANGED, "events = source()", "events = source().where('v > 3')", says="v > 3"),
        variant("fewer rows", CHANGED, "limit(5)", "limit(4)", says="Spark plans it otherwise"),
    ),
)
SESSION = Case(
    "session window",
    HEAD + 'df = events.groupBy(F.session_window("t", "5 minutes"), "k").agg(F.sum("v").alias("s"))\n#end',
    "Append",
    (
        *ON_EVERY[:6],
        variant("gap", CHANGED, '"5 minutes"', '"7 minutes"'),
        variant("sum to min", REWRITE, "F.sum", "F.min"),
        variant("one aggregate more", REWRITE, '.alias("s"))', '.alias("s"), F.count("v").alias("n"))'),
    ),
)
PANDAS = Case(
    "applyInPandasWithState",
    HEAD
    + """
import pandas
from pyspark.sql.streaming.state import GroupStateTimeout
START = 0
def counted(key, frames, state):
    number = (state.get[0] if state.exists else START) + sum(len(frame) for frame in frames)
    state.update((number,))
    yield pandas.DataFrame({"k": [key[0]], "n": [number]})
keyed = events.select("k", "v").groupBy("k")
df = keyed.applyInPandasWithState(counted, "k string, n long", "n long", "update", GroupStateTimeout.NoTimeout)
#end""",
    "Update",
    (
        variant("nothing", SAME),
        Variant("another version of pandas", (), TELL, "pandas, which was 0.1", {"pandas": "0.1"}),
        variant("comment", SAME, "START = 0", "# begin\nSTART = 0"),
        variant("body", CHANGED, "len(frame) for", "2 * len(frame) for", says="counted"),
        variant("a global", CHANGED, "START = 0", "START = 5", says="START was 0, is 5"),
        variant("columns renamed", CHANGED, 'select("k", "v")', 'select("k", F.col("v").alias("w"))', shows=False),
        variant("state's schema", REWRITE, '"n long", "update"', '"n long, m long", "update"'),
        variant("timeout", REWRITE, "GroupStateTimeout.NoTimeout", "GroupStateTimeout.ProcessingTimeTimeout"),
    ),
)
TRANSFORM = Case(
    "transformWithState",
    HEAD
    + """
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor
class Counter(StatefulProcessor):
    def init(self, handle):
        self.count = handle.getValueState("count", "n long")
        self.last = handle.getValueState("last", "n long")
    def handleInputRows(self, key, rows, timerValues):
        number = (self.count.get()[0] if self.count.exists() else 0) + sum(row.v for row in rows)
        self.count.update((number,))
        yield Row(k=key[0], n=number)
    def close(self):
        pass
df = events.groupBy("k").transformWithState(Counter(), "k string, n long", "update", "none")
#end""",
    "Update",
    (
        variant("nothing", SAME),
        Variant("another version of pandas", (), SAME, "", {"pandas": "0.1"}),
        variant("comment", SAME, "class Counter", "# counts\n\nclass Counter"),
        variant("body", CHANGED, "sum(row.v", "sum(2 * row.v", says="handleInputRows"),
        variant("a variable less", CHANGED, '        self.last = handle.getValueState("last", "n long")\n', "", says="init", shows=False),
        variant("a variable's schema", REWRITE, '("count", "n long")', '("count", "n string")'),
        variant("a column more of a variable", REWRITE, '("last", "n long")', '("last", "n long, m long")'),
    ),
    rocksdb_only=True,
)
CASES = (AGGREGATION, PACKAGE, BROADCAST, READER, BESIDE, FILES, COMMON, JOIN, DEDUPLICATION, WITHIN, LIMIT, SESSION, PANDAS, TRANSFORM)
