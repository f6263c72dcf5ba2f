"""Sends requests to the vault."""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPResponse
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

TIMEOUT_SECONDS = 60
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))

Headers = Mapping[str, str]
NONE: Headers = {}


class VaultError(Exception):
    """An error response: its status and its stable code."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"{status} {code}")
        self.status = status
        self.code = code


class VaultHttp:
    def __init__(self, base_url: str, access_token: str | None = None) -> None:
        self._base_url = base_url
        self._token = access_token

    def with_token(self, access_token: str) -> "VaultHttp":
        return VaultHttp(self._base_url, access_token)

    def get(self, path: str, headers: Headers = NONE) -> Any:
        return self._json("GET", path, headers=headers)

    def get_pages(
        self,
        path: str,
        limit: int = 100,
        filters: Mapping[str, str] = NONE,
        member: str | None = None,
    ) -> Iterator[Any]:
        """
        Yields every item of a list, which is the body or one of its members. Only the cursor is
        taken from the link to the next page.
        """
        query = {**filters, "limit": str(limit)}
        while True:
            with self._request("GET", f"{path}?{urlencode(query)}") as answer:
                body = json.load(answer)
                yield from body if member is None else body[member]
                link = re.search(r'<([^>]*)>; rel="next"', answer.headers.get("Link", ""))
            if link is None:
                return
            query["cursor"] = parse_qs(urlsplit(link.group(1)).query)["cursor"][0]

    def post(self, path: str, body: Any = None, headers: Headers = NONE) -> Any:
        return self._send("POST", path, body, headers)

    def put(self, path: str, body: Any, headers: Headers = NONE) -> Any:
        return self._send("PUT", path, body, headers)

    def delete(self, path: str, body: Any = None, headers: Headers = NONE) -> None:
        self._send("DELETE", path, body, headers)

    def put_bytes(self, path: str, data: bytes, headers: Headers) -> Any:
        return self._json(
            "PUT", path, data, {"Content-Type": "application/octet-stream", **headers}
        )

    def get_bytes(self, path: str, headers: Headers = NONE) -> bytes:
        with self._request("GET", path, headers=headers) as answer:
            return answer.read()

    def get_tagged(self, path: str) -> tuple[Any, str]:
        """Returns the body and the ETag."""
        with self._request("GET", path) as answer:
            return json.load(answer), answer.headers["ETag"]

    def _send(self, method: str, path: str, body: Any, headers: Headers) -> Any:
        if body is None:
            return self._json(method, path, headers=headers)
        data = json.dumps(body).encode()
        return self._json(method, path, data, {"Content-Type": "application/json", **headers})

    def _json(
        self, method: str, path: str, data: bytes | None = None, headers: Headers = NONE
    ) -> Any:
        with self._request(method, path, data, headers) as answer:
            body = answer.read()
            return json.loads(body) if body else None

    def _request(
        self, method: str, path: str, data: bytes | None = None, headers: Headers = NONE
    ) -> HTTPResponse:
        url = self._base_url + path
        request = urllib.request.Request(url, data=data, headers=dict(headers), method=method)
        if self._token is not None:
            request.add_header("Authorization", f"Bearer {self._token}")
        try:
            answer: HTTPResponse = DIRECT.open(request, timeout=TIMEOUT_SECONDS)
            return answer
        except urllib.error.HTTPError as error:
            with error:
                raise VaultError(error.code, json.load(error)["code"]) from None
