"""Events of a source that needs no files and never ends, counted by minute: what can be proved anywhere."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
options = {"rowsPerBatch": 5, "startTimestamp": 1_767_225_600_000, "advanceMillisPerBatch": 60_000, "numPartitions": 1}
ticks = spark.readStream.format("rate-micro-batch").options(**options).load()
counts = ticks.withWatermark("timestamp", "2 minutes").groupBy(F.window("timestamp", "1 minute"), F.col("value") % 2).count()
counts.writeStream.queryName("ticks").format("noop").outputMode("update").trigger(processingTime="1 second").start().awaitTermination()
