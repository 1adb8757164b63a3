"""What is in a bucket, page by page: objects, folders, uploads that nobody completed; many objects deleted by one request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pipelines.storage.errors import answered, typed_errors
from pipelines.storage.s3.client import Client
from pipelines.storage.s3.pages import OBJECTS, Listed

DELETED_AT_ONCE = 1_000
"""The most that one `DeleteObjects` deletes (S3)."""


def objects(client: Client, folder: str, path: str) -> Iterator[Listed]:
    """Each object below `folder` (`bucket/a/`), always asked anew; what is refused is about `path`."""
    return _each(client, "list_objects_v2", OBJECTS, folder, path)


def folders(client: Client, folder: str, path: str) -> list[str]:
    """Names of the folders directly in `folder` (`bucket/a/`), sorted."""
    prefixes = [item["Prefix"] for item in _each(client, "list_objects_v2", "CommonPrefixes", folder, path, Delimiter="/")]
    return sorted(prefix.rstrip("/").rpartition("/")[2] for prefix in prefixes)


def delete(client: Client, objects: Sequence[str], path: str) -> None:
    """Deletes `objects` (`bucket/key`); one that is not there is no error, one that the server keeps is."""
    for begin in range(0, len(objects), DELETED_AT_ONCE):
        names = [client.named(full) for full in objects[begin : begin + DELETED_AT_ONCE]]
        request = {"Objects": [{"Key": name["Key"]} for name in names], "Quiet": True}
        with typed_errors(path):
            answer = client.api.delete_objects(Bucket=names[0]["Bucket"], Delete=request)
        for error in answer.get("Errors", []):
            raise answered(error.get("Code", ""), f"s3://{names[0]['Bucket']}/{error.get('Key', '')}", error.get("Message", ""))


def abort_uploads(client: Client, folder: str, path: str) -> int:
    """Aborts each upload below `folder` (`bucket/a/`) that was not completed; returns how many."""
    uploads = list(_each(client, "list_multipart_uploads", "Uploads", folder, path))
    for upload in uploads:
        with typed_errors(path):
            client.api.abort_multipart_upload(Bucket=folder.partition("/")[0], Key=upload["Key"], UploadId=upload["UploadId"])
    return len(uploads)


def _each(client: Client, request: str, field: str, folder: str, path: str, **options: str) -> Iterator[Any]:
    """What `field` of each page lists."""
    bucket, _, prefix = folder.partition("/")
    with typed_errors(path):
        for page in client.api.get_paginator(request).paginate(Bucket=bucket, Prefix=prefix, **options):
            yield from page.get(field, [])
