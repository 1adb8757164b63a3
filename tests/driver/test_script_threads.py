"""When a script is over whose threads are at work yet, and for how long it has been idle."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from pipelines.driver.script_threads import Idleness, ScriptThreads
from tests.waiting import until


def ended(threads: ScriptThreads, enough: threading.Event, seconds: float = 60) -> bool:
    """Whether Python would end within so many seconds; the one that waits is a daemon."""
    waiting = threading.Thread(target=threads.wait, args=(enough,), daemon=True)
    waiting.start()
    waiting.join(seconds)
    return not waiting.is_alive()


def test_threads_are_waited_for_and_idle_workers_of_a_pool_are_not() -> None:
    threads, enough, go = ScriptThreads(), threading.Event(), threading.Event()
    assert ended(threads, enough) and threading.current_thread() in threads
    threading.Thread(target=go.wait, daemon=True).start()
    assert ended(threads, enough), "a daemon ends with the script"
    with ThreadPoolExecutor(2) as pool:
        work = pool.submit(go.wait)
        assert not ended(threads, enough, 0.5)
        assert ended(ScriptThreads(), enough), "it is none of the next script"
        go.set()
        work.result(10)
        assert ended(threads, enough), "its worker has nothing to do"
    go.clear()
    thread = threading.Thread(target=go.wait)
    thread.start()
    assert not ended(threads, enough, 0.5)
    enough.set()
    assert ended(threads, enough)
    go.set()
    thread.join()


def test_who_computes_is_not_idle() -> None:
    idleness, over = Idleness(), threading.Event()
    until(lambda: idleness.seconds() > 0.3)

    def compute() -> None:
        while not over.is_set():
            sum(range(10_000))

    thread = threading.Thread(target=compute)
    thread.start()
    until(lambda: idleness.seconds() == 0)
    over.set()
    thread.join()
    until(lambda: idleness.seconds() > 0.3)
