"""The canned face of the tests answers what it was given, the newest first, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.domain.errors import Conflict, NotFound
from pipelines.domain.operations import OperationState
from pipelines.verbs.face import do
from pipelines.verbs.forget import Forget
from pipelines.verbs.jobs import ListJobs, ShowJob
from pipelines.verbs.operations import ListOperations, ReadAnswer, ShowOperation
from pipelines.verbs.stop import Stop
from pipelines.verbs.verify import Verify
from tests import samples
from tests.canned import CannedFace
from tests.faces import FakeFace


def test_a_question_is_answered_by_its_value_or_by_its_kind() -> None:
    face = CannedFace()
    face.answers(ShowJob, lambda question: question.job)
    face.answers(ShowJob("a"), "the first")
    assert [face.ask(ShowJob("a")), face.ask(ShowJob("b"))] == ["the first", "b"]
    face.refuses(ShowJob, NotFound("job.not_found", "there is none"))
    with pytest.raises(NotFound):
        face.ask(ShowJob("a"))
    assert face.asked == [ShowJob("a"), ShowJob("b"), ShowJob("a")]


def test_a_change_is_answered_at_once_or_by_its_operation() -> None:
    face, running = CannedFace(), samples.begun("op-1", "verify", "a", "sp-1")
    ended = replace(running, state=OperationState.DONE)
    face.answers(Forget, None)
    for kind in (Verify, Stop):
        face.answers(kind, running)
    face.answers(ShowOperation("op-1"), ended)
    face.answers(ReadAnswer("op-1"), "intact")
    assert do(face, Forget("a")) is None
    assert (do(face, Verify("sp-1")), do(face, Stop("a"))) == ("intact", ended)
    assert face.begun == [Forget("a"), Verify("sp-1"), Stop("a")]


def test_those_that_a_function_says_yes_to() -> None:
    face = CannedFace()
    face.answers(Forget, None)
    face.refuses(lambda asked: isinstance(asked, Forget) and asked.job == "b", Conflict("job.running", "b runs"))
    assert do(face, Forget("a")) is None
    for call in (face.plan, face.begin):
        with pytest.raises(Conflict):
            call(Forget("b"))


def test_each_look_at_an_operation_finds_what_comes_next() -> None:
    face, traces = FakeFace.sample(), list[str]()
    begun, *_, ended = course = samples.course(samples.begun("op-1", "read", "a", ""), "read-1")
    face.answers(Stop, lambda change: face.then(face.under_way(*course), lambda: traces.append("read-1")))
    assert face.begin(Stop("a")).operation == begun and face.ask(ListOperations(running=True)) == (begun,)
    seen = [face.ask(ShowOperation("op-1")) for _ in range(3)]
    assert tuple(seen) == course[1:4] and traces == []
    assert [face.ask(ShowOperation("op-1")) for _ in range(2)] == [ended, ended] and traces == ["read-1"]
    assert do(face, Stop("a")) == ended


def test_what_nothing_was_given_for_fails() -> None:
    face = CannedFace()
    for call in (lambda: face.ask(ListJobs()), lambda: face.plan(Forget("a")), lambda: face.begin(Forget("a"))):
        with pytest.raises(AssertionError, match="was given to"):
            call()
