"""Opens the storage at an address."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from pipelines.domain.errors import Invalid
from pipelines.storage.carrying import Carrier
from pipelines.storage.local import LocalStorage
from pipelines.storage.protocol import Storage
from pipelines.storage.remote import FsspecStorage

LOCAL_ADDRESSES = ("file:", "local:")
S3_ADDRESSES = ("s3://", "s3a://")
HDFS_ADDRESSES = ("hdfs://", "webhdfs://", "swebhdfs://")
STORE_ADDRESSES = (*S3_ADDRESSES, *HDFS_ADDRESSES)
PASSWORD = re.compile(r"://[^/@:]*:(?!\d*(?:/|\Z))[^@]*@")
"""`user:password@` before a host, in chained addresses (`simplecache::ftp://…`) too; neither a port nor Azure's `container@account`."""
SIGNATURES = {"sig", "x-amz-signature", "x-amz-security-token", "x-goog-signature", "key", "secret", "token", "password"}


def open_storage(url: str, carrier: Carrier | None = None) -> Storage:
    """The storage at `url`: a path or `file:` URL is this machine, anything else fsspec's; raises Invalid, Unsupported or Unavailable.
    A `carrier` is for HDFS, which copies nothing by itself."""
    if url.startswith(LOCAL_ADDRESSES):
        return LocalStorage(_local_path(url))
    if "://" not in url:
        return LocalStorage(url)
    _refuse_credentials(url)
    if url.startswith(S3_ADDRESSES):
        _require_bucket(url)
        from pipelines.storage.s3 import S3Storage

        return S3Storage(url)
    if url.startswith(HDFS_ADDRESSES):
        from pipelines.storage.hdfs import HdfsStorage

        return HdfsStorage(url, carrier)
    return FsspecStorage(url)


def is_whole(url: str) -> bool:
    """Whether an address is the same place wherever it is read: a URL, or an absolute path."""
    return "://" in url or Path(_local_path(url) if url.startswith(LOCAL_ADDRESSES) else url).is_absolute()


def _require_bucket(url: str) -> None:
    if not url.split("/")[2]:
        raise Invalid("storage.address", f"{url!r} names no bucket", "Write s3://BUCKET/PATH.")


def _refuse_credentials(url: str) -> None:
    """Raises Invalid for credentials in an address, which is stored with every savepoint, shown on pages and logged."""
    bucket = url.split("/")[2] if url.startswith(S3_ADDRESSES) else ""
    signed = any(name.lower() in SIGNATURES for name, _ in parse_qsl(url.partition("?")[2]))
    if signed or "@" in bucket or (":" in bucket and not bucket.startswith("arn:")) or (not bucket and PASSWORD.search(url)):
        scheme = url.partition("://")[0]
        raise Invalid(
            "storage.credentials_in_url",
            f"This {scheme}:// address contains credentials",
            "Take them out of the address and put them into the environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for S3).",
        )


def _local_path(url: str) -> str:
    """The path of `file:/a`, `file:///a` and `file://localhost/a`, all of which Spark and people write; fsspec says `local:`, too."""
    path = url.partition(":")[2]
    if path.startswith("//"):
        path = "/" + path[2:].partition("/")[2]
    return unquote(path)
