"""A failure in a few lines, from the messages that Spark and Python really write."""

from __future__ import annotations

import pytest

from pipelines.domain import secrets
from pipelines.domain.errors import Conflict
from pipelines.domain.ids import JobName, RunId, VersionId
from pipelines.domain.run_specs import SPEC_FORMAT, RunSpec
from pipelines.domain.runs import Exit
from pipelines.driver import missing_paths, secret_values
from pipelines.driver.failures import BATCH_SKIPPED, Failure, of_exception, of_throwable, shorten

FOREACH_BATCH = """[FOREACH_BATCH_USER_FUNCTION_ERROR] Reason: Return Message: Traceback (most recent call last):
  File "clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
ValueError: no such thing
 SQLSTATE: 39000"""

STAGE = """Job aborted due to stage failure: Lost task 0.0 (TID 5): org.example.Wrong: [STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Not the same.
\tat org.apache.spark.Some.method(Some.scala:1)
Driver stacktrace:"""


class Throwable:
    """What py4j shows of a Java exception."""

    def __init__(self, message: str | None, cause: Throwable | None = None, name: str = "AssertionError") -> None:
        self._message, self._cause, self._name = message, cause, name

    def getMessage(self) -> str | None:
        return self._message

    def getCause(self) -> Throwable | None:
        return self._cause

    def getClass(self) -> Throwable:
        return self

    def getSimpleName(self) -> str:
        return self._name

    def toString(self) -> str:
        return f"java.lang.{self._name}"


@pytest.mark.parametrize(
    ("throwable", "failure"),
    [
        (
            Throwable("[STREAM_FAILED] Query terminated", Throwable(STAGE)),
            Failure("STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", "[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Not the same."),
        ),
        (
            Throwable("[OUTER] a", Throwable("[INNER.DETAIL] b", Throwable("plain", name="IOException"))),
            Failure("INNER.DETAIL", "[INNER.DETAIL] b"),
        ),
        (
            Throwable("[STREAM_FAILED] Query terminated", Throwable("assertion failed: two sources")),
            Failure("AssertionError", "assertion failed: two sources"),
        ),
        (
            Throwable("[STREAM_FAILED] Query terminated", Throwable("assertion failed: CheckpointInfo length: 0, numPartitions: 4")),
            BATCH_SKIPPED,
        ),
        (Throwable(None, name="NullPointerException"), Failure("NullPointerException", "java.lang.NullPointerException")),
    ],
)
def test_the_deepest_error_class_is_told(throwable: Throwable, failure: Failure) -> None:
    assert of_throwable(throwable) == failure


def test_a_python_stack_is_left_out_and_its_last_line_kept() -> None:
    assert shorten(FOREACH_BATCH) == "[FOREACH_BATCH_USER_FUNCTION_ERROR] Reason: Return Message:\nValueError: no such thing"


def test_our_own_errors_keep_their_code_and_hint() -> None:
    assert of_exception(Conflict("sink.taken", "No.", "Use {output}."), "") == Failure("sink.taken", "No. Use {output}.")


@pytest.mark.parametrize(
    ("error_class", "message", "is_advised"),
    [
        ("PATH_NOT_FOUND", "[PATH_NOT_FOUND] Path does not exist: file:/ws/out/data/in. SQLSTATE: 42K03", True),
        ("PATH_NOT_FOUND", "query q: [PATH_NOT_FOUND] Path does not exist: file:/data/in.", False),
        ("PATH_NOT_FOUND", "[PATH_NOT_FOUND] Path does not exist: s3a://ws/out/in.", False),
        ("FileNotFoundException", "File file:///ws/out/in/part-0 does not exist", True),
        ("FileNotFoundError", "line 3: [Errno 2] No such file or directory: '/ws/outer/x.csv'", False),
        ("FileNotFoundError", "line 3: [Errno 2] No such file or directory: '../x y.csv'", True),
        ("ValueError", "No such file or directory: 'x.csv'", False),
    ],
)
def test_a_missing_path_that_was_relative_has_advice(error_class: str, message: str, is_advised: bool) -> None:
    ending = Exit("failed", 1, error_class, message, 7)
    advised = missing_paths.advised(ending, "/ws/out")
    assert ("Give the whole path" in advised.message) == is_advised == (advised != ending) and advised.message.startswith(message)


def test_two_secrets_stay_two_and_neither_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_values, "_HIDDEN", secrets.Hidden())
    for value in ("of-argument-5523", "of-argument-5524"):
        spec = RunSpec(SPEC_FORMAT, RunId("r"), JobName("a"), VersionId("v"), "job.py", ("--password", value), {}, "", "", "")
        secret_values.hide(spec)
    one, other = (secret_values.told_apart(f"a{value}b") for value in ("of-argument-5523", "of-argument-5524"))
    assert one.startswith(f"a{'*' * 16}b (") and other.startswith(f"a{'*' * 16}b (") and one != other
    assert one == secret_values.told_apart("aof-argument-5523b") and secret_values.told_apart("plain") == "plain"
