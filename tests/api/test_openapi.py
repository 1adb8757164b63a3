"""The description of the API is whole, works where it is mounted, and needs no network."""

from __future__ import annotations

import re
from typing import Any

import httpx

from pipelines.api.app import create_api
from pipelines.workspace.face import Face
from tests.faces import FakeFace

BESIDE_THE_FACE = {"ping", "job_events"}
"""Routes that are no method of `Face`: who answers, and events once more below their job."""


def operations() -> dict[str, Any]:
    """Operation id -> (method, path, its description)."""
    paths = create_api(FakeFace()).openapi()["paths"]
    return {one["operationId"]: (method, path, one) for path, methods in paths.items() for method, one in methods.items()}


def face_methods() -> set[str]:
    return {name for name in vars(Face) if not name.startswith("_")} - {"acting"}  # a header of every call


def test_every_method_of_the_face_has_a_route_and_every_route_a_method() -> None:
    assert operations().keys() == face_methods() | BESIDE_THE_FACE


def test_every_route_is_described() -> None:
    for name, (_, path, one) in operations().items():
        assert path.startswith("/v1/"), name
        assert one["summary"] and one["description"] and one["tags"], name
        assert all(parameter.get("description") for parameter in one.get("parameters", [])), name
        assert {"422", "500"} <= one["responses"].keys(), name


def test_every_refusal_has_the_one_body_and_every_answer_a_model() -> None:
    for name, (_, _, one) in operations().items():
        for status, response in one["responses"].items():
            schema = response.get("content", {}).get("application/json", {}).get("schema")
            if status >= "400":
                assert schema == {"$ref": "#/components/schemas/ErrorBody"}, (name, status)
            else:
                assert schema or status == "204", (name, status)


def test_every_tag_is_described() -> None:
    described = {tag["name"] for tag in create_api(FakeFace()).openapi()["tags"] if tag["description"]}
    assert {tag for _, _, one in operations().values() for tag in one["tags"]} == described


def test_the_page_of_the_api_works_without_a_network(client: httpx.Client) -> None:
    page = client.get("/docs")
    assert page.status_code == 200
    wanted = re.findall(r"""(?:src|href)="([^"]+)"|url: '([^']+)'""", page.text)
    urls = [one or other for one, other in wanted]
    assert len(urls) >= 4
    origin = str(client.base_url).removesuffix("/api/")
    for url in urls:
        assert url.startswith("/api/"), url
        assert client.get(f"{origin}{url}").status_code == 200, url


def test_the_description_says_where_it_is_mounted(client: httpx.Client) -> None:
    assert client.get("/openapi.json").json()["servers"] == [{"url": "/api"}]
