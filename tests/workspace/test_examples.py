"""Examples: each begins with the generator of its input, with its own arguments, confs and modules."""

from __future__ import annotations

import pytest

from pipelines.domain.collection import COLLECTION, GENERATORS
from pipelines.domain.errors import NotFound
from pipelines.verbs.examples import ListExamples
from pipelines.verbs.face import do
from pipelines.verbs.system import StartExample
from tests.workspace.conftest import House
from tests.workspace.test_jobs import spec


def test_the_collection_is_listed_with_what_each_does(house: House) -> None:
    examples = house.face.ask(ListExamples())
    assert [example.name for example in examples] == list(COLLECTION)
    assert all(example.does and example.second_does and example.does != example.second_does for example in examples)
    assert all(example.generator in GENERATORS for example in examples)


def test_an_example_begins_with_its_input_and_a_job_that_lives_is_left_alone(house: House) -> None:
    (made,) = do(house.face, StartExample("engagement_to_database", inputs_only=True))
    assert made.job == "post_events"
    plan = house.face.plan(StartExample("engagement_to_database"))
    assert plan.begins == ("engagement_to_database",)
    again, run = do(house.face, StartExample("engagement_to_database"))
    assert (again.id, run.job) == (made.id, "engagement_to_database")
    begun = spec(house, run)
    output = str(house.face.layout.output(run.job))
    assert begun.args == (
        *("--events", str(house.face.layout.output(made.job))),
        *("--database", f"sqlite:{output}/engagement.sqlite", "--schema", "engagement_to_database"),
    ), "{job} is the job's name"
    assert begun.conf == COLLECTION["engagement_to_database"].conf


def test_an_unknown_example_is_refused_with_those_that_there_are(house: House) -> None:
    with pytest.raises(NotFound) as refused:
        do(house.face, StartExample("card_frauds"))
    assert refused.value.code == "example.not_found" and "card_fraud" in refused.value.hint
