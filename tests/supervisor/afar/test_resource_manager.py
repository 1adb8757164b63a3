"""Where YARN's resource manager answers, by Hadoop's settings; and one that does not (a real one: `workspace/test_yarn_cluster.py`)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pipelines.domain.errors import Unavailable
from pipelines.domain.yarn import addresses
from pipelines.supervisor.afar.resource_manager import ResourceManager
from tests.api.receivers import free_port


@pytest.mark.parametrize(
    ("settings", "urls"),
    [
        ({"yarn.resourcemanager.hostname": "m"}, ("http://m:8088",)),
        ({"yarn.resourcemanager.webapp.address": "m:80"}, ("http://m:80",)),
        (
            {"yarn.resourcemanager.hostname": "m", "yarn.resourcemanager.webapp.address": "${yarn.resourcemanager.hostname}:9"},
            ("http://m:9",),
        ),
        ({"yarn.resourcemanager.hostname": "m", "yarn.http.policy": "HTTPS_ONLY"}, ("https://m:8090",)),
        (
            {
                "yarn.resourcemanager.ha.rm-ids": "a, b",
                "yarn.resourcemanager.hostname.a": "m",
                "yarn.resourcemanager.webapp.address.b": "n:80",
            },
            ("http://m:8088", "http://n:80"),
        ),
    ],
)
def test_it_is_where_the_settings_say(settings: Mapping[str, str], urls: tuple[str, ...]) -> None:
    assert addresses(settings) == urls


def test_settings_that_do_not_say_it_are_refused() -> None:
    with pytest.raises(Unavailable) as refused:
        addresses({})
    assert refused.value.code == "master.yarn" and "yarn.resourcemanager.hostname" in refused.value.hint


def test_one_that_does_not_answer_is_told() -> None:
    away = ResourceManager({"spark.hadoop.yarn.resourcemanager.webapp.address": f"127.0.0.1:{free_port()}"}, "", {})
    with pytest.raises(Unavailable) as refused:
        away.application("application_1_0001")
    assert refused.value.code == "master.yarn_away"
