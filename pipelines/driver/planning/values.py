"""Values that say all of themselves, and classes whose objects have fields alone."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pipelines.driver.planning import origins
from pipelines.driver.planning.origins import Origin

PLAIN = (type(None), bool, int, float, complex, type(...))
WHOLE_IN_REPR = (date, datetime, time, timedelta, timezone, Decimal, Fraction, UUID, PurePath, range)
"""Classes whose `repr` tells all of a value."""
CONTAINERS = (list, tuple, dict, set, frozenset, str, bytes, int, float)
BASES = (object, *CONTAINERS)
WITHOUT_FIELDS = ("abc", "typing", "collections.abc", "dataclasses")


def plain(thing: Any) -> str:
    if isinstance(thing, bytes):
        return thing.hex()
    return thing if isinstance(thing, str) else repr(thing)


def is_open(base: type) -> bool:
    """Whether objects of the class `base` keep all they have in fields that can be seen."""
    return base in BASES or base.__module__ in WITHOUT_FIELDS or origins.of_module(base.__module__) in (Origin.OWN, Origin.SPARK)
