"""How deployed functions are invoked: signatures, tokens, headers, proxies and retries, against servers that are made up."""

from __future__ import annotations

import base64
import datetime
import http.server
import json
import threading
import time

import pytest

from swtch._errors import CommandError, WrongUsage
from swtch.faas import sigv4, study
from swtch.faas.access import Access, Bearer, Denied, expiry
from swtch.faas.command import main

SUITE = sigv4.Account("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", None, "us-east-1")
"""Of AWS's published test suite for Signature Version 4, like the signatures below."""
MOMENT = datetime.datetime(2015, 8, 30, 12, 36, tzinfo=datetime.UTC)
S3_DOCUMENTED = sigv4.Account(
    "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", None, "us-east-1"
)
"""Of the examples in the Amazon S3 API Reference, "Signature Calculations for the Authorization Header"."""
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize(
    ("method", "query", "signature"),
    [
        ("GET", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ("POST", "", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        ("GET", "?Param2=value2&Param1=value1", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
    ],
)  # fmt: skip
def test_signatures_are_those_of_the_published_test_suite(method, query, signature):
    url = f"https://example.amazonaws.com/{query}"
    found = sigv4.signed(SUITE, "service", method, url, {}, b"", MOMENT)
    assert found["Authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        f"SignedHeaders=host;x-amz-date, Signature={signature}"
    )


@pytest.mark.parametrize(
    ("place", "headers", "signature"),
    [
        ("test.txt", {"Range": "bytes=0-9"}, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        ("?max-keys=2&prefix=J", {}, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
        ("?lifecycle", {}, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
    ],
)  # fmt: skip
def test_signatures_with_headers_and_queries_are_those_of_the_documentation(place, headers, signature):
    moment = datetime.datetime(2013, 5, 24, tzinfo=datetime.UTC)
    url = f"https://examplebucket.s3.amazonaws.com/{place}"
    given = {**headers, "x-amz-content-sha256": EMPTY}
    found = sigv4.signed(S3_DOCUMENTED, "s3", "GET", url, given, b"", moment)
    assert found["Authorization"].endswith(f"Signature={signature}")


def test_the_account_is_that_of_the_environment():
    with pytest.raises(WrongUsage, match="--sigv4 needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"):
        sigv4.account({"AWS_ACCESS_KEY_ID": "x"})
    found = sigv4.account({"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_SESSION_TOKEN": "z"})
    with pytest.raises(WrongUsage, match="does not name its AWS region; set AWS_REGION"):
        found.region_of("https://example.com/")
    headers = sigv4.signed(
        found, "lambda", "POST", "https://a.lambda-url.eu-west-1.on.aws/", {}, b"{}", MOMENT
    )
    assert "SignedHeaders=host;x-amz-date;x-amz-security-token" in headers["Authorization"]
    assert "/eu-west-1/lambda/aws4_request" in headers["Authorization"]


class Served:
    """A server that answers what a function of the request says, and keeps what it was asked."""

    def __init__(self, answer):
        self.asked = []
        served = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                served.asked.append((self.path, dict(self.headers), body))
                status, document = answer(self.headers, len(served.asked))
                data = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_CONNECT(self):
                served.asked.append((self.path, dict(self.headers), b""))
                self.send_error(*answer(self.headers, len(served.asked)))

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def serve(monkeypatch, tmp_path):
    """Starts servers; no variable of this environment names a proxy."""
    monkeypatch.chdir(tmp_path)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    started = []

    def start(answer):
        started.append(Served(answer))
        return started[-1]

    yield start
    for one in started:
        one.server.shutdown()
        one.server.server_close()


def web_token(expires_s):
    """A JSON Web Token without a signature."""
    claims = base64.urlsafe_b64encode(json.dumps({"exp": expires_s}).encode()).decode().rstrip("=")
    return f"e30.{claims}.x"


def test_a_token_says_when_it_expires():
    assert expiry(web_token(1234)) == 1234
    assert [expiry(text) for text in ("opaque", "a.b.c", "..", "a.e30.c")] == [None] * 4


def test_a_token_that_expires_is_fetched_again_before_it_does(tmp_path):
    for left_s, fetched in ((10, 2), (1000, 1)):
        count = tmp_path / f"count-{left_s}"
        bearer = Bearer(f"echo x >> {count}; echo {web_token(time.time() + left_s)}")
        assert bearer.current() == bearer.current()
        assert len(count.read_text().split()) == fetched


def test_a_token_that_is_not_accepted_is_fetched_once_more_and_that_is_counted(serve, tmp_path):
    (tmp_path / "token").write_text("old")
    served = serve(lambda headers, n: (200, {}) if headers["Authorization"] == "Bearer new" else (401, {}))
    way = Access(bearer=Bearer("cat token; echo new > token"))
    reply = way.invoke(served.url, b"{}", 5)
    assert (reply.outcome, reply.retries) == ("complete", 1)
    refusing = Access(bearer=Bearer("echo wrong"))
    with pytest.raises(Denied, match="HTTP 401 .*the token that 'echo wrong' prints is not accepted"):
        refusing.invoke(served.url, b"{}", 5)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo you are not logged in >&2; exit 3", "ended with status 3: you are not logged in"),
        ("true", "printed nothing"),
        ("echo two words", "printed more than a token"),
    ],
)
def test_a_command_without_a_token_is_one_line(command, said):
    with pytest.raises(CommandError, match=said) as raised:
        Bearer(command).current()
    assert "\n" not in str(raised.value)


def test_what_was_not_taken_is_asked_again_and_counted(serve):
    served = serve(lambda headers, n: (503, {}) if n < 3 else (200, {"n": n}))
    waits = []
    reply = Access(retries=2).invoke(served.url, b"{}", 5, sleep=waits.append)
    assert (reply.outcome, reply.retries, reply.document) == ("complete", 2, {"n": 3})
    assert reply.retried_why.startswith("HTTP 503") and waits == sorted(waits) and len(waits) == 2
    # What the function itself did may have had effects.
    failing = serve(lambda headers, n: (502, {}))
    assert Access(retries=2).invoke(failing.url, b"{}", 5).outcome == "failed"
    assert len(failing.asked) == 1


def test_a_proxy_of_the_environment_is_used_and_its_refusal_is_one_line(serve, monkeypatch):
    proxy = serve(lambda headers, n: (200, {"by": "proxy"}))
    monkeypatch.setenv("HTTP_PROXY", f"http://user:pass%20word@127.0.0.1:{proxy.port}")
    assert Access().invoke("http://function.invalid/x?y=1", b"{}", 5).document == {"by": "proxy"}
    path, headers, _ = proxy.asked[0]
    assert path == "http://function.invalid/x?y=1"
    assert base64.b64decode(headers["Proxy-Authorization"].split()[1]) == b"user:pass word"
    direct = serve(lambda headers, n: (200, {"by": "function"}))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert Access().invoke(direct.url, b"{}", 5).document == {"by": "function"}
    refusing = serve(lambda headers, n: (407, "Proxy Authentication Required"))
    monkeypatch.setenv("HTTPS_PROXY", f"http://user:secret@127.0.0.1:{refusing.port}")
    with pytest.raises(Denied) as denied:
        Access().invoke("https://function.invalid/", b"{}", 5)
    assert f"the proxy 127.0.0.1:{refusing.port} refused: 407" in str(denied.value)
    assert "check HTTPS_PROXY" in str(denied.value) and "secret" not in str(denied.value)
    assert len(refusing.asked) == 1
    monkeypatch.setenv("HTTPS_PROXY", "socks5://127.0.0.1:1")
    with pytest.raises(WrongUsage, match="HTTPS_PROXY is not a proxy that is spoken to over HTTP"):
        Access().invoke("https://function.invalid/", b"{}", 5)


def test_a_study_that_is_denied_keeps_what_it_has_and_goes_on_with_another_token(serve, tmp_path, capsys):
    """The token expires in the middle; neither header nor token is written anywhere."""
    served = serve(lambda headers, n: (200, {}) if headers.get("X-Key") == "hidden" and n < 4 else (401, {}))
    (tmp_path / "event.json").write_text("{}")
    words = ["tiers", "--invoke", f"128MB={served.url}", "--event", "event.json", "--runs", "5", "-o", "out"]
    assert main([*words, "--header", "X-Key: hidden", "--header", "X-Other: also"]) == 1
    out, err = capsys.readouterr()
    assert "HTTP 401" in err and "continue with: swtch faas tiers --resume out" in err
    assert err.splitlines()[-1].startswith("swtch faas: http://127.0.0.1")
    # One was to find out what it is.
    assert len(study.read(tmp_path / "out")["invocations"]) == 2
    served.asked.clear()
    assert main(["tiers", "--resume", "out", "--header", "X-Key: hidden"]) == 0
    found = study.read(tmp_path / "out")
    assert sorted(one["repeat"] for one in found["invocations"]) == [0, 1, 2, 3, 4]
    kept = (tmp_path / "out/tiers.json").read_text() + (tmp_path / "out/journal.jsonl").read_text()
    assert "hidden" not in kept and '"--header",' in kept


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--header", "no colon"], "is not a header"),
        (["--bearer-from", "true", "--header", "Authorization: x"], "--bearer-from and --header Authorization exclude"),
        (["--retries", "-1"], "--retries"),
        (["--sigv4"], "--sigv4 needs AWS_ACCESS_KEY_ID"),
        (["--bearer-from", "exit 4"], "'exit 4' ended with status 4"),
    ],
)  # fmt: skip
def test_wrong_ways_are_one_line_before_anything_is_asked(words, said, serve, monkeypatch, capsys):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    served = serve(lambda headers, n: (200, {}))
    try:
        status = main(["tiers", "--invoke", served.url, *words])
    except SystemExit as ended:
        status = ended.code
    err = capsys.readouterr().err
    assert status in (1, 2) and said in err and err.count("\n") == 1
    assert served.asked == []
