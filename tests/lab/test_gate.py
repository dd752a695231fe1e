"""Who is let in: without the token nothing is served, and no other site can ask in somebody's name."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.lab.conftest import TOKEN, first_line, lab, request

PLACES = (
    "/",
    "/static/main.js",
    "/api/catalogue",
    "/api/opened",
    "/api/presets/wifi-lte",
    "/nothing",
    "/../etc/passwd",
)


def test_without_the_token_nothing_is_served() -> None:
    client = lab()
    for place in PLACES:
        assert client.get(place).status_code == 401
        assert "<" not in client.get(place).text
    assert client.post("/api/run", json=request()).status_code == 401
    assert client.get("/", params={"token": "wrong"}).status_code == 403
    assert client.get("/", params={"token": TOKEN + "x"}).status_code == 403


def test_the_token_becomes_a_cookie_that_scripts_cannot_read() -> None:
    client = lab()
    done = client.get("/", params={"token": TOKEN}, follow_redirects=False)
    assert (done.status_code, done.headers["location"]) == (303, "/")
    cookie = done.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert client.get("/").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[", "10.0.0.1"])
def test_another_host_name_is_not_answered(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers", [{"origin": "http://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}]
)
def test_another_site_cannot_ask(client: TestClient, headers: dict[str, str]) -> None:
    assert client.post("/api/read", json=request(), headers=headers).status_code == 403
    assert client.put("/api/opened", json={"text": ""}, headers=headers).status_code == 403


def test_every_answer_says_that_the_page_loads_nothing_from_elsewhere(client: TestClient) -> None:
    for place in PLACES:
        answer = client.get(place)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_page_names_no_address_but_its_own() -> None:
    root = Path(__file__).parents[2] / "python/mptcplab/lab/static"
    for file in root.rglob("*"):
        if file.is_file():
            found = re.findall(r"https?://[^\s\"'`)]+", file.read_text(encoding="utf-8"))
            assert set(found) <= {"http://www.w3.org/2000/svg"}, file


def test_files_of_the_page_and_no_others(client: TestClient) -> None:
    assert client.get("/static/main.js").headers["content-type"].startswith("text/javascript")
    for path in ("../app.py", "..%2fapp.py", "%2e%2e/app.py", "style", "", "/etc/passwd", "main.js%00"):
        assert client.get(f"/static/{path}").status_code == 404


def test_a_server_for_everyone_warns() -> None:
    program = Path(sys.executable).with_name("mptcplab")
    command = [str(program), "lab", "--no-browser", "--host", "0.0.0.0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert first_line(process).startswith("http://127.0.0.1:")
            process.terminate()
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()  # one that does not end fails the test, instead of having it wait
    assert "warning: anyone who can reach 0.0.0.0" in said
