"""Large objects in S3 go there in parts: an upload that becomes an object when it is completed, and nothing when it is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pipelines.domain.errors import TidemarkError
from pipelines.storage.errors import typed_errors
from pipelines.storage.s3_client import Client


class Parts:
    """The parts of one object on their way; `put` and `copy` may be called from several threads, each part once."""

    def __init__(self, client: Client, full: str, path: str) -> None:
        self._client = client
        self._path = path
        self._bucket, self._key, _ = client.split_path(full)
        self._tags: dict[int, str] = {}
        self._id = str(self._call("create_multipart_upload")["UploadId"])

    def put(self, number: int, data: bytes) -> None:
        """Part `number` (from 1) is `data`."""
        self._tags[number] = self._call("upload_part", UploadId=self._id, PartNumber=number, Body=data)["ETag"]

    def copy(self, number: int, source: str, first: int, last: int) -> None:
        """Part `number` (from 1) is the bytes `first` to `last` of the object `source`, copied by the server."""
        bucket, key, _ = self._client.split_path(source)
        said = self._call(
            "upload_part_copy",
            UploadId=self._id,
            PartNumber=number,
            CopySource={"Bucket": bucket, "Key": key},
            CopySourceRange=f"bytes={first}-{last}",
        )
        self._tags[number] = said["CopyPartResult"]["ETag"]

    def complete(self) -> None:
        """The object is there, with all its parts in the order of their numbers."""
        parts = [{"PartNumber": number, "ETag": tag} for number, tag in sorted(self._tags.items())]
        self._call("complete_multipart_upload", UploadId=self._id, MultipartUpload={"Parts": parts})

    def abort(self) -> None:
        """Nothing is left of it."""
        self._call("abort_multipart_upload", UploadId=self._id)

    def _call(self, method: str, **arguments: Any) -> Any:
        with typed_errors(self._path):
            return self._client.call(method, Bucket=self._bucket, Key=self._key, **arguments)


@contextmanager
def parts(client: Client, full: str, path: str) -> Iterator[Parts]:
    """The parts of the object `full`, which is there when the block ends well; what it raises is about `path`."""
    begun = Parts(client, full, path)
    try:
        yield begun
        begun.complete()
    except BaseException:
        with suppress(TidemarkError):  # the first error is the one to tell; `sweep` ends uploads that nobody completed
            begun.abort()
        raise


def abort_below(client: Client, folder: str, path: str) -> int:
    """Aborts each upload below `folder` (`bucket/a/`) that was not completed; returns how many."""
    bucket, _, prefix = folder.partition("/")
    ended = 0
    marker: dict[str, str] = {}
    with typed_errors(path):
        while True:
            page = client.call("list_multipart_uploads", Bucket=bucket, Prefix=prefix, **marker)
            for upload in page.get("Uploads", []):
                client.call("abort_multipart_upload", Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
                ended += 1
            if not page.get("IsTruncated"):
                return ended
            marker = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]}
