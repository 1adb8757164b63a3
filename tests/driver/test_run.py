"""What a driver makes of a script: names, checkpoints, records, the stop, the failure."""

from __future__ import annotations

import signal
from pathlib import Path

import psutil
import pytest

from pipelines.domain.ids import folder_of
from pipelines.domain.installed import INSTALLED_FILE, Installed, is_same
from pipelines.domain.plans import PLANS_FOLDER
from pipelines.domain.runs import EXIT_FILE
from pipelines.domain.runtimes import OWN
from pipelines.sandbox import installed
from pipelines.storage import documents
from tests import java
from tests.driver.process import Driver, Drivers, batches

STEADY = """
import signal, sys, time
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.config("spark.sql.shuffle.partitions", "3").getOrCreate()
spark.conf.set("spark.sql.streaming.checkpointLocation", sys.argv[1] + "/of-the-session")
signal.signal(signal.SIGTERM, lambda *_: [query.stop() for query in spark.streams.active])  # amid a batch, if it were called at once
rate = lambda: spark.readStream.format("rate").option("rowsPerSecond", 5).load()

def slow(batch, number):
    batch.count()
    time.sleep(0.5)

print("confs", spark.conf.get("spark.sql.shuffle.partitions"), spark.conf.get("spark.example"), spark.sparkContext.appName, sys.argv[1:])
try:
    rate().writeStream.format("parquet").start("file:" + sys.argv[1] + "/theirs/engagement")
except Exception as refused:
    print("refused", refused.code, refused.hint)
rate().writeStream.queryName("slow one").option("checkpointLocation", sys.argv[1] + "/mine").foreachBatch(slow).start()
rate().writeStream.format("json").trigger(processingTime="1 hour").start(sys.argv[1] + "/json")
"""


def in_a_batch(driver: Driver, checkpoint: Path) -> bool:
    if not (checkpoint / "commits").exists() or len(driver.progress) < 3:
        return False
    return len(batches(checkpoint, "offsets")) > len(batches(checkpoint, "commits"))


COUNTED = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.format("rate").load()
rows.groupBy("value").count().writeStream.outputMode("update").foreachBatch(lambda frame, batch: frame.collect()).start()
spark.streams.awaitAnyTermination()
"""
OWN_HANDLER = """
import os, signal, sys, time

told = []
former = signal.getsignal(signal.SIGTERM)

def leave(number, frame):
    print("told of", number, flush=True)
    LEAVES

assert signal.signal(signal.SIGTERM, leave) == former and signal.getsignal(signal.SIGTERM) is leave
print("up", flush=True)
while not told:
    time.sleep(0.05)
"""
ARGUMENTS = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--rows", required=True)
parser.parse_args()
"""
TELLING = """
import os, sys
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.getOrCreate()
given = [*sys.argv[2:], spark.conf.get("spark.my.password"), spark._jsc.hadoopConfiguration().get("my.password")]
told = "/".join(given)
print(told, flush=True)

def fail(frame, batch):
    frame.collect()
    if os.path.exists("plans"):
        raise ValueError(told + 40 * given[0])

rows = spark.readStream.format("rate").option("rowsPerSecond", 5).load().withColumn("secret", F.lit(given[0]))
rows.writeStream.option("checkpointLocation", "/nowhere/" + "/".join(given[:2])).foreachBatch(fail).start().awaitTermination()
"""
STUBBORN = """
import time
print("up", flush=True)
while True:
    try:
        time.sleep(60)
    except SystemExit:
        print("no", flush=True)
"""


@pytest.mark.spark
def test_a_script_runs_unchanged_and_stops_between_two_batches(drivers: Drivers) -> None:
    output = str(drivers.output())
    conf = {"spark.example": "a b", "spark.sql.shuffle.partitions": "7"}
    driver = drivers.start("run-1", STEADY, output, job="clicks", conf=conf, taken_paths=(f"{output}/theirs",))
    checkpoints = drivers.checkpoints("clicks")
    driver.until(lambda d: in_a_batch(d, checkpoints / folder_of("slow one")))
    driver.terminate()
    assert driver.wait() == 0, driver.log
    assert driver.exit["reason"] == "stopped"
    assert "no state to set" not in driver.log
    assert "its queries go on: slow one, query-1" in driver.log

    assert f"confs 3 a b clicks ['{output}']" in driver.log, "what the script sets in code wins over the run's conf"
    assert "refused sink.taken Give the output directory as {output}" in driver.log
    slow, files = driver.queries
    assert slow["trigger"] == {"kind": "processing-time", "interval_ms": 0}
    assert files["trigger"] == {"kind": "processing-time", "interval_ms": 3_600_000}
    assert slow["sources"] == files["sources"] == ["rate"]
    assert (slow["query"], slow["sink"], slow["sink_path"]) == ("slow one", "foreachBatch", "")
    assert (files["query"], files["sink"], files["sink_path"]) == ("query-1", "json", f"{output}/json")
    assert slow["checkpoint"] == str(checkpoints / folder_of("slow one"))
    replaced = [("checkpoint.replaced", "query-0"), ("checkpoint.replaced", "slow one"), ("checkpoint.replaced", "query-1")]
    assert [(event["kind"], event["query"]) for event in driver.events] == replaced
    assert not (drivers.output() / "mine").exists()
    noted = documents.decode(Installed, (driver.folder / INSTALLED_FILE).read_bytes(), INSTALLED_FILE)
    assert is_same(noted, installed.of(OWN)) and noted.java, "the workspace finds what the driver stands on"

    for name in ("slow one", "query-1"):
        checkpoint = checkpoints / folder_of(name)
        assert batches(checkpoint, "commits") == batches(checkpoint, "offsets"), "no batch was cut"
        told = [event["batchId"] for event in driver.progress if event["name"] == name]
        assert max(told) >= batches(checkpoint, "commits")[-1], "the last batch's progress was written"
        assert (checkpoint / "metadata").exists()


def test_a_script_without_queries_ends_with_sigterm(drivers: Drivers) -> None:
    driver = drivers.start("run-1", "import time\nprint('up', flush=True)\nwhile True:\n    time.sleep(60)\n")
    driver.until(lambda d: "up" in d.log)
    driver.terminate()
    assert driver.wait() == 0
    assert (driver.exit["reason"], driver.exit["code"]) == ("stopped", 0)


@pytest.mark.parametrize("leaves", ["told.append(number)", "sys.exit(143)", "former(number, frame) if callable(former) else os._exit(0)"])
def test_a_scripts_own_handler_of_sigterm_is_called_in_an_orderly_end(drivers: Drivers, leaves: str) -> None:
    driver = drivers.start("run-1", OWN_HANDLER.replace("LEAVES", leaves))
    driver.until(lambda d: "up" in d.log)
    driver.terminate()
    code = driver.wait()
    assert "SIGTERM: stopping at the next batch boundary" in driver.log
    assert "told of 15" in driver.log, "it knows its own handler, not the driver's"
    if "os._exit" in leaves:
        assert (code, (driver.folder / EXIT_FILE).exists()) == (0, False), "the supervisor says how it ended"
    else:
        assert (code, driver.exit["reason"], driver.exit["code"]) == (0, "stopped", 0), driver.log


@pytest.mark.spark
@pytest.mark.parametrize(("ended_by", "too"), [(signal.SIGTERM, True), (signal.SIGKILL, False)])
def test_whoever_ends_sparks_process_has_killed_the_run(drivers: Drivers, ended_by: signal.Signals, too: bool) -> None:
    """A machine that is shut down tells all processes at once; the kernel takes the one with the most memory."""
    driver = drivers.start("run-1", COUNTED)
    driver.until(lambda d: bool(d.progress))
    (spark,) = java.jvms(psutil.Process(driver.process.pid))
    if too:
        driver.terminate()
    spark.send_signal(ended_by)
    assert driver.wait() == 1
    assert (driver.exit["reason"], driver.exit["error_class"], driver.exit["query"]) == ("killed", "", ""), driver.log
    assert driver.exit["message"].startswith(f"Spark's process was ended by {ended_by.name}, as ")


def test_a_second_sigterm_ends_at_once(drivers: Drivers) -> None:
    driver = drivers.start("run-1", STUBBORN)
    driver.until(lambda d: "up" in d.log)
    driver.terminate()
    driver.until(lambda d: "no" in d.log.splitlines())
    driver.terminate()
    assert driver.wait() == 128 + signal.SIGTERM
    assert driver.exit["reason"] == "killed"


@pytest.mark.parametrize(
    ("code", "error_class", "message"),
    [
        ("x = 1\nif x\n    pass\n", "SyntaxError", "line 2: expected ':': if x"),
        ("def f():\n    raise ValueError('no such thing')\nf()\n", "ValueError", "line 2: no such thing"),
        ("import sys\nsys.exit(3)\n", "SystemExit", "the script exited with 3"),
        (ARGUMENTS, "SystemExit", "the script exited with 2: the following arguments are required: --rows"),
        ("import absent_module\n", "ModuleNotFoundError", "line 1: No module named 'absent_module'"),
    ],
)
def test_a_failed_script_says_why(drivers: Drivers, code: str, error_class: str, message: str) -> None:
    driver = drivers.start("run-1", code)
    assert driver.wait() == 1
    assert (driver.exit["reason"], driver.exit["error_class"], driver.exit["message"]) == ("failed", error_class, message)


def test_a_relative_path_that_is_not_there_is_said_to_begin_where_the_driver_stands(drivers: Drivers) -> None:
    driver = drivers.start("run-1", "open('data/lookup.csv')\n")
    assert driver.wait() == 1 and driver.exit["error_class"] == "FileNotFoundError"
    first, advice = driver.exit["message"].split("\n")
    assert first == "line 1: [Errno 2] No such file or directory: 'data/lookup.csv'"
    assert f"begin in the working directory of its driver, which is its output folder where that is local: {driver.folder}" in advice


@pytest.mark.spark
def test_secrets_are_in_no_record_of_a_run(drivers: Drivers) -> None:
    args = ("--password", "of-argument-5523", "{env:TOLD}", f"{{file:{drivers.folder / 'told'}}}")
    (drivers.folder / "told").write_text("of-file-8412\nhas-two-lines")
    conf = {"spark.my.password": "of-conf-6634", "spark.hadoop.my.password": "{env:TOLD_TOO}"}
    told = {"TOLD": "of-variable-7301", "TOLD_TOO": "of-variable-9045"}
    driver = drivers.start("run-1", TELLING, *args, conf=conf, environment=told)
    assert driver.wait() == 1
    values = ("of-argument", "of-variable", "of-file", "two-lines", "of-conf")
    assert all(value in driver.log for value in values), "the code was given them"
    exit, (plan,) = driver.exit["message"], (driver.folder / PLANS_FOLDER).iterdir()
    assert [event["kind"] for event in driver.events] == ["checkpoint.replaced"]
    for text in (driver.events[0]["message"], exit, plan.read_text()):
        assert "*" * 16 in text and not [value for value in values if value in text]
    assert exit.endswith("***…"), "nor is a part of one there where it is cut"


def test_a_script_that_ends_has_finished(drivers: Drivers) -> None:
    code = "import sys, os\nprint(sys.argv[1:], sys.path[0] == os.path.dirname(__file__), __name__)\n"
    driver = drivers.start("run-1", code, "--a", "b c")
    assert driver.wait() == 0
    assert "['--a', 'b c'] True __main__" in driver.log
    assert driver.exit["reason"] == "finished"


STARTING = """
import pathlib, signal, sys, time
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQueryListener

class Slow(StreamingQueryListener):
    def onQueryStarted(self, event):  # which `start` waits for
        if event.name == "second":
            pathlib.Path("starting").touch()
            time.sleep(2)

    def onQueryProgress(self, event): ...
    def onQueryIdle(self, event): ...
    def onQueryTerminated(self, event): ...

def ended(*_):
    print("left", [query.name for query in spark.streams.active])
    sys.exit(0)

spark = SparkSession.builder.getOrCreate()
spark.streams.addListener(Slow())
signal.signal(signal.SIGTERM, ended)
for name in ("first", "second"):
    spark.readStream.format("rate").load().writeStream.format("noop").queryName(name).start()
spark._jvm.java.lang.Thread.sleep(600_000)
"""


@pytest.mark.spark
def test_a_query_that_starts_as_the_run_is_stopped_ends_before_the_scripts_handler_asks_spark_amid_a_call(drivers: Drivers) -> None:
    driver = drivers.start("run-1", STARTING)
    driver.until(lambda d: (d.folder / "starting").exists() or (drivers.output() / "starting").exists())
    driver.terminate()
    assert driver.wait() == 0, driver.log
    assert driver.exit["reason"] == "stopped"
    assert "query second stopped" in driver.log and "left []" in driver.log


@pytest.mark.spark
def test_a_batch_that_takes_longer_than_the_grace_is_interrupted(kept_jvms: None, drivers: Drivers) -> None:
    script = STEADY.replace("time.sleep(0.5)", "time.sleep(600)")
    grace = {"TIDEMARK_STOP_GRACE_S": "0.2"}
    driver = drivers.start("run-1", script, str(drivers.output()), conf={"spark.example": "-"}, environment=grace)
    planned = drivers.checkpoints() / folder_of("slow one") / "offsets" / "0"
    driver.until(lambda d: planned.exists() and len(d.queries) == 2)
    driver.terminate()
    assert driver.wait() == 0, driver.log
    assert driver.exit["reason"] == "stopped"
    assert "did not reach the end of its batch" in driver.log


TWO_QUERIES = """
import time
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
rate = spark.readStream.format("rate").load()

def broken(batch, number):
    raise ValueError("no such thing")

rate.writeStream.queryName("good").format("noop").start()
rate.writeStream.queryName("bad").foreachBatch(broken).start()
while True:
    time.sleep(60)
"""


THREADS = """
import threading, time
from concurrent.futures import ThreadPoolExecutor
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()

def start(at):
    barrier.wait()
    time.sleep(at)
    spark.readStream.format("rate").load().writeStream.format("noop").start().awaitTermination()

barrier = threading.Barrier(3)
for at in (1, 1):
    threading.Thread(target=start, args=(at,)).start()
ThreadPoolExecutor(2).submit(start, 2)
"""


@pytest.mark.spark
def test_a_script_is_over_no_earlier_than_its_threads_which_start_one_query_after_the_other(kept_jvms: None, drivers: Drivers) -> None:
    driver = drivers.start("run-1", THREADS)
    driver.until(lambda d: len(d.queries) == 3 and len({event["name"] for event in d.progress}) == 3)
    assert "its queries go on" not in driver.log
    driver.terminate()
    assert driver.wait() == 0, driver.log
    assert driver.exit["reason"] == "stopped"
    assert [query["query"] for query in driver.queries] == ["query-0", "query-1", "query-2"]


@pytest.mark.spark
def test_one_failed_query_fails_the_run_and_stops_the_others(kept_jvms: None, drivers: Drivers) -> None:
    driver = drivers.start("run-1", TWO_QUERIES)
    assert driver.wait() == 1, driver.log
    assert driver.exit["error_class"] == "FOREACH_BATCH_USER_FUNCTION_ERROR", driver.exit
    assert "query bad" in driver.exit["message"]
    assert "no such thing" in driver.exit["message"]
    good = drivers.checkpoints() / "good"
    assert batches(good, "commits") == batches(good, "offsets")
    assert "the script goes on although its queries have ended: interrupted" in driver.log
