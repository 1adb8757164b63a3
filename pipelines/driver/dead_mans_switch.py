"""Ends the JVM of this driver unless it is told in time not to, whatever has become of the driver: it is the JVM that writes checkpoints.

It is made of the JDK alone: a method handle of `Runtime.halt` as a `Runnable`, and an executor that runs it after a delay.
"""

from __future__ import annotations

from typing import Any

HALTED_CODE = 75
"""What the JVM's exit says (EX_TEMPFAIL of sysexits.h)."""


class DeadMansSwitch:
    """Not armed at first."""

    def __init__(self) -> None:
        from pyspark import SparkContext

        self._jvm: Any = SparkContext._jvm
        self._halt = _halt(self._jvm, SparkContext._gateway)
        self._armed: Any = None

    def arm(self, seconds: float) -> None:
        """The JVM ends after `seconds`, unless this is called again, or `disarm`."""
        executor = self._jvm.java.util.concurrent.ScheduledThreadPoolExecutor(1)
        executor.schedule(self._halt, max(int(seconds * 1000), 0), self._jvm.java.util.concurrent.TimeUnit.MILLISECONDS)
        before, self._armed = self._armed, executor
        if before is not None:
            before.shutdownNow()

    def disarm(self) -> None:
        if self._armed is not None:
            self._armed.shutdownNow()
            self._armed = None


def _halt(jvm: Any, gateway: Any) -> Any:
    """`Runtime.halt(HALTED_CODE)` as a `Runnable`."""
    invoke, runtime = jvm.java.lang.invoke, jvm.java.lang.Runtime.getRuntime()
    kind = invoke.MethodType.methodType(jvm.java.lang.Void.TYPE, jvm.java.lang.Integer.TYPE)
    method = invoke.MethodHandles.publicLookup().findVirtual(runtime.getClass(), "halt", kind)
    bound = gateway.new_array(jvm.java.lang.Object, 2)
    bound[0], bound[1] = runtime, HALTED_CODE
    runnable = jvm.java.lang.Class.forName("java.lang.Runnable")
    return invoke.MethodHandleProxies.asInterfaceInstance(runnable, invoke.MethodHandles.insertArguments(method, 0, bound))
