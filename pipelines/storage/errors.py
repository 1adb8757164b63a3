"""The errors of every kind of storage as Tidemark's, by one table."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from pipelines.domain.errors import NotFound, TidemarkError, Unavailable
from pipelines.domain.secrets import without_passwords
from pipelines.storage import paths

HINTS = {
    "storage.full": ("no space left", "Free space there, or dispose of savepoints there, then try again."),
    "storage.denied": ("permission denied", "Give this user access, or choose another storage."),
    "storage.read_only": ("the file system is read-only", "Choose a storage that can be written to."),
    "storage.unreachable": (
        "the storage cannot be reached",
        "Check its address (AWS_ENDPOINT_URL for S3, HADOOP_CONF_DIR for HDFS), its mount and the network; try again.",
    ),
    "storage.busy": ("the storage is busy or failing", "Wait a little and try again."),
    "storage.safe_mode": (
        "HDFS is in safe mode, in which nothing can be written",
        "Wait until its NameNode has left it (hdfs dfsadmin -safemode get), then try again.",
    ),
    "storage.login": (
        "HDFS did not accept who asks",
        "Log in as Hadoop asks for it: HADOOP_USER_NAME, FSSPEC_WEBHDFS_TOKEN (a delegation token), or kinit for Kerberos.",
    ),
    "storage.no_bucket": ("there is no such bucket", "Create the bucket, or check its name and the endpoint (AWS_ENDPOINT_URL)."),
    "storage.no_credentials": (
        "no credentials were found",
        "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, in the environment of the process (and of the server).",
    ),
    "storage.bad_credentials": (
        "the credentials were refused",
        "Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, that they have not expired, and this machine's clock.",
    ),
}
"""Code -> the message about the path, and the hint."""

ERRNOS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "storage.full"),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "storage.denied"),
    errno.EROFS: "storage.read_only",
    errno.EBUSY: "storage.busy",
    errno.EREMOTEIO: "storage.busy",
    **dict.fromkeys(
        (errno.ESTALE, errno.ENOTCONN, errno.ENODEV, errno.ENXIO, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ETIMEDOUT),
        "storage.unreachable",
    ),
}

ANSWERS = {
    "NoSuchBucket": "storage.no_bucket",
    **dict.fromkeys(("AccessDenied", "AllAccessDisabled", "AccountProblem", "403"), "storage.denied"),
    **dict.fromkeys(
        ("InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired", "RequestTimeTooSkewed"),
        "storage.bad_credentials",
    ),
    **dict.fromkeys(("SlowDown", "ServiceUnavailable", "InternalError", "500", "503"), "storage.busy"),
    **dict.fromkeys(("QuotaExceeded", "InsufficientStorage", "XMinioStorageFull", "507"), "storage.full"),
}
"""Error codes of S3 servers (docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html, and MinIO's)."""

ANSWERS |= {
    "SafeModeException": "storage.safe_mode",
    **dict.fromkeys(("StandbyException", "RetriableException", "ServerNotActiveException"), "storage.busy"),
    **dict.fromkeys(("NSQuotaExceededException", "DSQuotaExceededException", "QuotaByStorageTypeExceededException"), "storage.full"),
    **dict.fromkeys(("AuthenticationException", "401"), "storage.login"),
}
"""Exceptions of Hadoop (the `RemoteException` of WebHDFS) and answers of its HTTP."""

GONE = {"NoSuchKey", "404"}

CLIENTS = {
    **dict.fromkeys(
        ("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "ProfileNotFound"), "storage.no_credentials"
    ),
    **dict.fromkeys(("TokenRetrievalError", "SSOError"), "storage.bad_credentials"),
    **dict.fromkeys(
        ("ConnectionError", "HTTPClientError", "IncompleteReadError", "TimeoutError", "gaierror", "ClientConnectionError"),
        "storage.unreachable",
    ),
    **dict.fromkeys(("Timeout", "ChunkedEncodingError", "ProtocolError"), "storage.unreachable"),
}
"""Class names (or those of a base) of the errors of botocore, aiohttp, requests and fsspec, which need not be installed."""


@contextmanager
def typed_errors(path: str) -> Iterator[None]:
    """Raises what the storage says about `path` as NotFound or Unavailable; other libraries' errors count as the storage's."""
    try:
        yield
    except TidemarkError:
        raise
    except Exception as error:
        raise translated(error, path) from error


@contextmanager
def disk_errors(path: str) -> Iterator[None]:
    """Raises as Unavailable that a disk is full or read-only, of whatever is made on it; `path` is named where the system names no file."""
    try:
        yield
    except OSError as error:
        if ERRNOS.get(error.errno or 0) not in ("storage.full", "storage.read_only"):
            raise
        raise translated(error, path) from error


def translated(error: Exception, path: str) -> TidemarkError:
    """The typed error for `error`, which names the file and the next step."""
    answer = _answer(error)
    if answer in GONE:
        return _not_found(path)
    code = ANSWERS.get(answer) or next((CLIENTS[name] for name in _classes(error) if name in CLIENTS), None)
    if code is None and isinstance(error, OSError):
        return _of_system(error, path)
    words = without_passwords(str(error))
    if code is None:
        message = f"{path}: {type(error).__name__}: {words}"
        return Unavailable("storage.failed", message, "The storage's client failed; check its address and credentials.")
    return _unavailable(code, path, words)


def answered(answer: str, path: str, message: str) -> TidemarkError:
    """The typed error for the error code that a server gave (an S3 for one of several objects, an HDFS for anything)."""
    code = ANSWERS.get(answer)
    return _unavailable(code, path, message) if code else Unavailable("storage.failed", f"{path}: {answer}: {message}", "Try again.")


def _of_system(error: OSError, path: str) -> TidemarkError:
    where = path if not error.filename or paths.is_temporary(str(error.filename)) else str(error.filename)
    if isinstance(error, FileNotFoundError):
        return _not_found(where)
    if isinstance(error, NotADirectoryError):
        return Unavailable("storage.not_a_file", f"{where} lies below a file, where a folder is needed", "Use another path.")
    if isinstance(error, IsADirectoryError):
        return Unavailable("storage.not_a_file", f"{where} is a folder, where a file is needed", "Remove it or use another path.")
    code = "storage.denied" if isinstance(error, PermissionError) else ERRNOS.get(error.errno or 0)
    if code is not None:
        return _unavailable(code, where, "")
    return Unavailable("storage.failed", f"{where}: {error.strerror or error}", "Check that the storage is mounted and healthy.")


def _not_found(where: str) -> NotFound:
    return NotFound("storage.not_found", f"{where} does not exist", "It was deleted, or never written; list the folder again.")


def _unavailable(code: str, where: str, detail: str) -> Unavailable:
    message, hint = HINTS[code]
    return Unavailable(code, f"{where}: {message}" + (f" ({detail})" if detail else ""), hint)


def _answer(error: BaseException) -> str:
    """The error code in an S3 server's answer, which s3fs keeps as the cause of the error it raises."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        return str(response.get("Error", {}).get("Code", ""))
    return _answer(error.__cause__) if error.__cause__ is not None else ""


def _classes(error: BaseException) -> list[str]:
    return [kind.__name__ for kind in type(error).__mro__]
