"""The API as its own description says it is: what fits the description, or just does not, is answered as described, never with a 5xx."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.config import SchemathesisConfig
from schemathesis.core.failures import FailureGroup
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from pipelines.api.app import create_api
from tests.api.serving import as_owner
from tests.workspace.conftest import House

ENDLESS = ["stream", "job_stream"]
"""What they answer has no end, which is waited for here; they are in `test_stream`."""
EXAMPLES = 5
"""Of each call and each way of making it: as described, and not as described."""


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[schemathesis.BaseSchema]:
    house = House(tmp_path_factory.mktemp("described") / "ws")
    house.ran("a")
    api = schemathesis.openapi.from_asgi("/openapi.json", as_owner(create_api(house.face)), config=SchemathesisConfig(seed=1))
    yield api.exclude(operation_id=ENDLESS)
    house.face.close()


def problems(operation: schemathesis.APIOperation, mode: GenerationMode) -> Iterator[str]:
    """What is not as described in the answers to `EXAMPLES` calls; the same ones each time.

    A schema cannot say all that makes a request right (that a job is there, that a name is one): to refuse it is as described.
    """
    seen = set()

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def called(case: schemathesis.Case) -> None:
        try:
            case.call_and_validate(excluded_checks=[positive_data_acceptance])
        except FailureGroup as group:
            seen.update(f"{operation.label}: {failure.title}: {failure.message[:300]}" for failure in group.exceptions)

    with suppress(Unsatisfiable):  # nothing can be wrong with a call that takes nothing
        called()
    yield from sorted(seen)


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_every_call_answers_as_it_is_described(described: schemathesis.BaseSchema, mode: GenerationMode) -> None:
    operations = [result.ok() for result in described.get_all_operations()]
    assert len(operations) > 40
    assert [problem for operation in operations for problem in problems(operation, mode)] == []
