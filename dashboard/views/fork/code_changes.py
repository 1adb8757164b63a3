"""What a variant's code and files have otherwise than their original. Pure."""

from __future__ import annotations

import difflib

from dashboard.views.fork.drafts import Variant
from pipelines.domain.versions import Version


def changed_files(variant: Variant, original: Version) -> dict[str, str] | None:
    """The files that the variant has otherwise than `original`; None where there are none."""
    return {path: text for path, text in variant.files.items() if original.files.get(path) != text} or None


def difference(before: str, after: str) -> tuple[int, int]:
    """Lines added and lines removed."""
    signs = [line[:1] for line in list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""))[2:]]
    return signs.count("+"), signs.count("-")


def whole_difference(original: Version, variant: Variant) -> tuple[int, int]:
    """Lines added and removed in the script and in all files."""
    before, after = {"": original.code, **original.files}, {"": variant.code, **variant.files}
    counts = [difference(before.get(path, ""), after.get(path, "")) for path in {**before, **after}]
    return sum(added for added, _ in counts), sum(removed for _, removed in counts)
