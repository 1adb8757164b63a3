"""Jobs whose Spark is a Spark Connect server (`SparkSession.builder.remote`): the driver is a client, and no JVM is beside it."""
