"""Servers that do everything wrong cost bounded time and leave nothing partial (`bad_servers`)."""

import os
from types import SimpleNamespace

import bad_servers
import pytest
from archives import dataset, leftovers, one
from click.testing import CliRunner

from grailbench.cli.main import cli
from grailbench.data.fetch import fetch
from grailbench.data.registry import Archive
from grailbench.data.sources import Hosts, SourceFailed, _check_redirect
from grailbench.errors import InputError
from grailbench.util import temporary


@pytest.mark.slow
@pytest.mark.parametrize("name", bad_servers.FAULTS)
def test_a_server_that(name):
    assert bad_servers.trial(name, 0.5, registered=True) == []


@pytest.mark.parametrize("name", ["truncates", "states too little", "flips a bit", "sends a page", "bomb"])
def test_a_server_of_what_nobody_vouches_for_that(name):
    assert bad_servers.trial(name, 0.7, registered=False) == []


def test_a_broken_promise_is_seen(monkeypatch):
    unchecked = {"archive_sha256": "", "checked": "none"}
    monkeypatch.setattr("grailbench.data.fetch._checked", lambda archive, path: unchecked)
    monkeypatch.setattr(temporary.File, "__exit__", lambda self, *raised: self.handle < 0 or os.close(self.handle))
    wrong = " ".join(bad_servers.trial("sends nothing whole", 0.5, registered=True))
    assert "left" in wrong


@pytest.mark.parametrize("name", ["answers 429", "sends nothing"])
def test_from_a_server_that_asks_to_wait_or_is_silent_nothing_more_is_asked(name, cache):
    with bad_servers.served() as server:
        server.act = bad_servers.FAULTS[name].make(0)
        wanted = [dataset(name, f"{name}.gra.gz", from_=[server.url + "/{file}"]) for name in "abc"]
        results = fetch(wanted, hosts=Hosts(timeout=0.2))
    assert server.asked == {"/a.gra.gz": 1}
    assert [result.reasons[0].partition(": ")[0] for result in results[1:]] == ["127.0.0.1 is out of reach"] * 2


@pytest.mark.parametrize(
    ("before", "to", "refused"),
    [
        ("https://a.org/x", "http://a.org/x", True),
        ("https://a.org/x", "//b.org/x", False),
        ("https://a.org/x", "/y", False),
        ("http://a.org/x", "https://a.org/x", False),
        ("https://a.org/x", "data:,x", True),
    ],
)
def test_a_redirect_goes_on_to_the_web_and_never_back_from_https(before, to, refused):
    answer = SimpleNamespace(is_redirect=True, url=before, headers={"location": to})
    if refused:
        with pytest.raises(SourceFailed, match="it redirects"):
            _check_redirect(answer)
    else:
        _check_redirect(answer)


def test_the_command_waits_for_the_timeout_and_ends_with_two_and_the_remedy(cache, monkeypatch):
    with bad_servers.served() as server:
        server.act = bad_servers.FAULTS["sends nothing"].make(0)
        wanted = [dataset("a", "a.gra.gz", from_=[server.url + "/{file}"])]
        monkeypatch.setattr("grailbench.data.locate.choose", lambda *args: wanted)
        result = CliRunner().invoke(cli, ["fetch", "a", "--timeout", "0.2"], standalone_mode=False)
    assert isinstance(result.exception, InputError)
    assert "--mirror FOLDER-or-URL adds a source" in str(result.exception)
    assert f"{server.url}/a.gra.gz: it sent less than 64 KiB in 0.2 s (--timeout" in result.output


# ------------------------------------------------------------------ a download ends, whatever the server does


@pytest.mark.parametrize("registered", [True, False])
def test_a_download_without_an_end_stops_at_the_registered_size_or_the_cap(registered, cache, monkeypatch):
    monkeypatch.setattr("grailbench.data.sources.UNREGISTERED", 3_000_000)
    with bad_servers.served() as server:
        server.act = bad_servers.FAULTS["sends without an end"].make(0)
        archive = Archive(file="a.gra.gz", bytes=1_000_000 if registered else None, sources=(f"{server.url}/a.gra.gz",))
        wanted = dataset().model_copy(update={"archives": {"a.gra.gz": archive}})
        result = one(fetch([wanted], hosts=Hosts()))
    assert f"it has more than {1_000_000 if registered else 3_000_000:,} bytes" in result.reasons[0]
    assert server.sent < 1 << 27
    assert leftovers(cache) == []


@pytest.mark.slow
def test_a_download_that_goes_on_too_long_is_ended(cache):
    with bad_servers.served() as server:
        server.act = lambda handler: bad_servers.drip(handler, block=b"0" * 4096, pause=0.01)
        result = one(fetch([dataset(from_=[server.url + "/{file}"])], hosts=Hosts(total=0.3)))
    assert "the file was not whole after 0.3 s" in result.reasons[0]


def test_a_pipe_in_a_mirror_is_refused_at_once(tmp_path, cache):
    os.mkfifo(tmp_path / "a.gra.gz")
    result = one(fetch([dataset()], mirror=str(tmp_path)))
    assert any("it is a pipe" in reason for reason in result.reasons)
