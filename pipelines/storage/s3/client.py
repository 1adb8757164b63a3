"""The client of S3: s3fs, with requests that the asking thread makes itself, and less patient with a server that is gone.

Credentials, endpoint and region come from the environment, as boto and fsspec read them (AWS_*, FSSPEC_S3_*); nothing keeps them.
"""

from __future__ import annotations

import threading
from typing import Any

from s3fs import S3FileSystem

from pipelines.storage.s3 import pages

SCHEMES = ("s3", "s3a")
STREAMS = 16
"""Files under way at once, and parts of files."""
COPIES = 64
"""Files that the server copies at once: they take it time, and this machine nothing."""
STREAM_TRIES = 2
"""Of s3fs, each with the tries of its client."""
PATIENCE: dict[str, Any] = {
    "connect_timeout": 5,
    "read_timeout": 15,
    "max_pool_connections": COPIES,
    "retries": {"mode": "standard", "total_max_attempts": 3},
}
"""A store that is gone is told within a minute. While a request is sent, `connect_timeout` is how long the server may take nothing."""


class Client(S3FileSystem):  # type: ignore[misc]  # s3fs has no types
    """s3fs reads streams; `api` does all else: s3fs would hand each request over to its one event loop, which takes longer."""

    retries = STREAM_TRIES

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._making = threading.Lock()
        self._api: Any = None

    @property
    def api(self) -> Any:
        """botocore's client with the options of this file system, for any thread. Raises botocore's errors."""
        with self._making:
            if self._api is None:
                self._api = self._make()
        return self._api

    def named(self, full: str) -> dict[str, str]:
        """The object `full` (`bucket/key`) as requests name it."""
        bucket, key, _ = self.split_path(full)
        return {"Bucket": bucket, "Key": key}

    def _make(self) -> Any:
        from botocore import UNSIGNED
        from botocore.config import Config
        from botocore.session import Session

        credentials = {"aws_access_key_id": self.key, "aws_secret_access_key": self.secret, "aws_session_token": self.token}
        options = ({} if self.anon else credentials) | {"endpoint_url": self.endpoint_url, "use_ssl": self.use_ssl}
        config = Config(**self.config_kwargs, **({"signature_version": UNSIGNED} if self.anon else {}))
        api = Session(**self.kwargs).create_client("s3", config=config, **(options | self.client_kwargs))
        api.meta.events.register("provide-client-params.s3", self._with_options)
        api.meta.events.register("request-created.s3", _at_once)
        api.meta.events.register(pages.BEFORE_ALL, pages.shorten)
        return api

    def _with_options(self, params: dict[str, Any], model: Any, **_: Any) -> dict[str, Any]:
        """`params` of a request and those that the options say for every request that takes them (encryption, who pays)."""
        options = self.s3_additional_kwargs | self.req_kw
        return {name: value for name, value in options.items() if name in model.input_shape.members} | params


def open_client() -> Client:
    """The client for what the environment says; how patient it is can be said there too (FSSPEC_S3_CONFIG_KWARGS)."""
    from fsspec.config import conf

    asked: dict[str, Any] = {}
    for scheme in SCHEMES:
        asked |= conf.get(scheme, {}).get("config_kwargs", {})
    return Client(config_kwargs=PATIENCE | asked, use_listings_cache=False)


def _at_once(request: Any, **_: Any) -> None:
    """Sends an object with its request instead of asking first whether the server wants it: one round trip less."""
    del request.headers["Expect"]
