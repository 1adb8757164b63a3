"""JVMs that outlive their driver, for tests whose subject is not the process: a cold JVM takes more of a processor than what most drivers
of a test do with it.

What is started under the fixture `kept_jvms` is a real process of its own each time, with a context of its own in a real JVM. But that JVM
may be one that an earlier driver has left: without a context, warm, and told by system properties what `--conf` would have told a new one
(as `pipelines.sandbox.gateway` does within a process). A driver that needs another kind of JVM (Spark, memory, jars, Hadoop's confs,
environment) gets another one, and the JVM of a driver that is killed is killed, too.
"""
