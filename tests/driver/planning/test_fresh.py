"""Of a module of the user's counts what the processes hold that import it anew, and not what the script makes of it afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.runtimes import Runtime
from pipelines.driver.planning.functions import Reading, digest
from pipelines.driver.planning.uses import Uses
from pipelines.sandbox.environment import java_of
from tests import runtimes

SCRIPT = """
from shop import prices, settings
settings.RATE = 5
settings.LIMITS["a"][0] = 5
settings.conf.load(5)
settings.Conf.factor = 5
settings.later = 5
SENT = 5
def f(x):
    return prices.price(x) + SENT
"""
SHOP = {
    "__init__": "",
    "settings": """
RATE = 1
LIMITS = {"a": [2]}
class Conf:
    factor = 3
    def __init__(self):
        self.rate = 4
    def load(self, rate):
        self.rate = rate
conf = Conf()
""",
    "prices": """
from shop import settings
from shop.settings import Conf
def price(x):
    return x * settings.RATE + settings.LIMITS["a"][0] + settings.conf.rate + Conf.factor
""",
}


@pytest.mark.parametrize(
    ("was", "now", "is_other"),
    [
        ("RATE = 1", "RATE = 2", True),
        ('{"a": [2]}', '{"a": [3]}', True),
        ("factor = 3", "factor = 4", True),
        ("self.rate = 4", "self.rate = 6", True),
        ("x * settings", "x + settings", True),
        ("settings.RATE = 5", "settings.RATE = 6", False),
        ('"a"][0] = 5', '"a"][0] = 6', False),
        ("load(5)", "load(6)", False),
        ("factor = 5", "factor = 6", False),
        ("SENT = 5", "SENT = 6", True),
    ],
)
def test_what_a_script_changes_in_a_module_is_not_what_its_functions_see(
    was: str, now: str, is_other: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = []
    for side, (text, other) in (("old", (was, was)), ("new", (was, now))):
        for name, code in SHOP.items():
            (tmp_path / side / "shop").mkdir(parents=True, exist_ok=True)
            (tmp_path / side / "shop" / f"{name}.py").write_text(code.replace(text, other))
        with monkeypatch.context() as patch, Uses(tmp_path / side):
            patch.syspath_prepend(str(tmp_path / side))
            scope: dict[str, Any] = {"__name__": "__main__", "__file__": str(tmp_path / side / "job.py")}
            exec(compile(SCRIPT.replace(text, other), "job.py", "exec", dont_inherit=True), scope)
            reading = Reading()
            digests.append(digest(reading.settled(reading.form(scope["f"], ""))))
        for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
            del sys.modules[name]
    assert (digests[0] != digests[1]) == is_other and not reading.gaps, reading.gaps


FORGETTING = """
from pyspark.sql import SparkSession
from pipelines.driver.planning import alone
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
alone._forget_sessions()
print("active:", SparkSession.getActiveSession())
"""


@pytest.mark.spark
def test_a_side_forgets_the_sessions_of_the_one_before_on_spark_3_too() -> None:
    """There the class of sessions has another place."""
    python = runtimes.python()
    environment = {**os.environ, "JAVA_HOME": str(java_of(Runtime(python)).path), "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run([python, "-c", FORGETTING], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.strip().endswith("active: None"), done.stderr
