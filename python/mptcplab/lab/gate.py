"""Who is let in: whoever has the token, from a page of this server. Everyone else gets 4xx and nothing of the page."""

import hmac
import ipaddress
import socket
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The browser enforces it: not even a mistake in the page can load anything from, or send anything to, elsewhere."""
_HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Gate:
    """Before everything else."""

    def __init__(self, app: ASGIApp, token: str, host: str, port: int) -> None:
        self._app = app
        self._token = token
        self._cookie = f"mptcplab-lab-{port}"
        self._hosts = names_of(host)
        self._any_address = host in ("0.0.0.0", "::", "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        answer = self._refused(scope)
        await (answer or self._app)(scope, receive, guarded)

    def _refused(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_ours(host):
            return PlainTextResponse("this server does not answer to that host name\n", 421)
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        if scope["path"] == "/" and scope["method"] == "GET" and "token" in query:
            if not self._is_token(query["token"]):
                return PlainTextResponse("this is not the token: open the address that mptcplab lab printed\n", 403)
            # The token leaves the address, so that an address that is passed on carries none. What follows # stays.
            answer = RedirectResponse("/", 303)
            answer.set_cookie(self._cookie, self._token, httponly=True, samesite="lax", path="/")
            return answer
        if not self._is_token(cookie_parser(headers.get("cookie", "")).get(self._cookie, "")):
            return PlainTextResponse("a token is needed: open the address that mptcplab lab printed\n", 401)
        if scope["method"] not in ("GET", "HEAD"):
            origin = headers.get("origin")
            # A browser says where a request comes from; other programs say nothing.
            if origin is not None and urlsplit(origin).netloc != host:
                return PlainTextResponse("requests are answered only for this server's own page\n", 403)
            if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
                return PlainTextResponse("requests are answered only for this server's own page\n", 403)
        return None

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())

    def _is_ours(self, host: str) -> bool:
        """Whether the browser asked for this server by a name of its own: a foreign name may lead here too."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self._hosts:
            return True
        if not self._any_address:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def names_of(host: str) -> frozenset[str]:
    """The names by which a server that listens on `host` is asked for."""
    names = {host, "localhost", "127.0.0.1", "::1"}
    if not is_loopback(host):
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    return frozenset(names)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that listens there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
