"""The description of the API is whole, works where it is mounted, and needs no network."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import httpx

from pipelines import verbs
from pipelines.api.app import create_api
from tests.faces import FakeFace

BY_HAND = {"ping", "dispose", "stream", "job_stream", "log_file"}
"""Routes that are no declaration: who answers, one savepoint disposed of by its own address, what has no end, and what is no JSON."""


@cache
def operations() -> dict[str, Any]:
    """Operation id -> (method, path, its description)."""
    paths = create_api(FakeFace()).openapi()["paths"]
    return {operation["operationId"]: (method, path, operation) for path, methods in paths.items() for method, operation in methods.items()}


def test_every_declaration_has_its_routes_and_every_route_its_declaration() -> None:
    declared = {http.name or kind.call: (http, kind) for kind in verbs.every() for http in (kind.http, *kind.also)}
    assert operations().keys() == declared.keys() | BY_HAND
    for name, (http, kind) in declared.items():
        method, path, described = operations()[name]
        assert (method.upper(), path) == (http.method, f"/v1{http.path}")
        assert described["tags"] == [kind.topic]


def test_every_route_is_described() -> None:
    for name, (method, path, operation) in operations().items():
        assert ("415" in operation["responses"]) == (method in ("post", "patch")), name
        assert path.startswith("/v1/"), name
        assert operation["summary"] and operation["description"] and operation["tags"], name
        assert all(parameter.get("description") for parameter in operation.get("parameters", [])), name
        assert {"422", "500"} <= operation["responses"].keys(), name


def test_every_refusal_has_the_one_body_and_every_answer_a_model() -> None:
    for name, (_, _, operation) in operations().items():
        for status, response in operation["responses"].items():
            content = response.get("content", {})
            if status >= "400":
                assert content == {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}, (name, status)
            else:
                events = content.get("text/event-stream", {}).get("itemSchema")
                schemas = [content.get(kind, {}).get("schema") for kind in ("application/json", "text/plain")]
                assert events or any(schemas) or status == "204", (name, status)


def test_every_tag_is_described() -> None:
    described = {tag["name"] for tag in create_api(FakeFace()).openapi()["tags"] if tag["description"]}
    assert {tag for _, _, operation in operations().values() for tag in operation["tags"]} == described


def test_the_page_of_the_api_works_without_a_network(client: httpx.Client) -> None:
    page = client.get("/docs")
    assert page.status_code == 200
    references = re.findall(r"""(?:src|href)="([^"]+)"|url: '([^']+)'""", page.text)
    urls = [attribute or other for attribute, other in references]
    assert len(urls) >= 4
    origin = str(client.base_url).removesuffix("/api/")
    for url in urls:
        assert url.startswith("/api/"), url
        assert client.get(f"{origin}{url}").status_code == 200, url


def test_the_description_says_where_it_is_mounted(client: httpx.Client) -> None:
    assert client.get("/openapi.json").json()["servers"] == [{"url": "/api"}]
