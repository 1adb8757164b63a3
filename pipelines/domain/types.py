"""Types of columns of state, in Spark's JSON."""

WIDER = {"byte": 0, "short": 1, "integer": 2, "long": 3, "float": 10, "double": 11}
"""Types (in Spark's JSON) that are cast to one of a higher number without loss, within the same ten."""
SQL = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
"""What Spark calls types in SQL that it calls otherwise in its JSON."""


def is_wider(narrow: str, wide: str) -> bool:
    """Whether each value of the type `narrow` is one of `wide`; both in Spark's JSON."""
    a, b = WIDER.get(narrow.strip('"')), WIDER.get(wide.strip('"'))
    return a is not None and b is not None and a < b and a // 10 == b // 10
