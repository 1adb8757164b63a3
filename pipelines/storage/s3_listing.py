"""What is in a bucket, page by page, and many objects deleted by one request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pipelines.storage.errors import answered, typed_errors
from pipelines.storage.s3_client import Client

DELETED_AT_ONCE = 1_000
"""The most that one `DeleteObjects` deletes (S3)."""


def objects(client: Client, folder: str, path: str) -> Iterator[dict[str, Any]]:
    """Key, Size, LastModified of each object below `folder` (`bucket/a/`), always asked anew; what is refused is about `path`."""
    for page in _pages(client, folder, path, {}):
        yield from page.get("Contents", [])


def folders(client: Client, folder: str, path: str) -> list[str]:
    """Names of the folders directly in `folder` (`bucket/a/`), sorted."""
    found = [prefix["Prefix"] for page in _pages(client, folder, path, {"Delimiter": "/"}) for prefix in page.get("CommonPrefixes", [])]
    return sorted(prefix.rstrip("/").rpartition("/")[2] for prefix in found)


def delete(client: Client, objects: Sequence[str], path: str) -> None:
    """Deletes `objects` (`bucket/key`); one that is not there is no error, one that the server keeps is."""
    for begin in range(0, len(objects), DELETED_AT_ONCE):
        split = [client.split_path(full) for full in objects[begin : begin + DELETED_AT_ONCE]]
        wanted = {"Objects": [{"Key": key} for _, key, _ in split], "Quiet": True}
        with typed_errors(path):
            said = client.call("delete_objects", Bucket=split[0][0], Delete=wanted)
        for error in said.get("Errors", []):
            raise answered(error.get("Code", ""), error.get("Key", ""), error.get("Message", ""))


def _pages(client: Client, folder: str, path: str, options: dict[str, str]) -> Iterator[dict[str, Any]]:
    bucket, _, prefix = folder.partition("/")
    asked = {"Bucket": bucket, "Prefix": prefix, **options}
    while True:
        with typed_errors(path):
            page = client.call("list_objects_v2", **asked)
        yield page
        if not page.get("IsTruncated"):
            return
        asked["ContinuationToken"] = page["NextContinuationToken"]
