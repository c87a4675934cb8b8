"""Servers that do everything wrong cost bounded time and leave nothing partial (`tests/faults/sources.py`)."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import sources
from archives import dataset, one
from click.testing import CliRunner

from grailbench.cli.main import cli
from grailbench.data import cache as cached
from grailbench.data.fetch import fetch
from grailbench.data.sources import Hosts, SourceFailed, _check_redirect
from grailbench.errors import InputError


@pytest.mark.parametrize("name", sources.FAULTS)
def test_a_server_that(name):
    assert sources.trial(name, 0.5, registered=True) == []


@pytest.mark.parametrize("name", ["truncates", "states too little", "flips a bit", "sends a page", "bomb"])
def test_a_server_of_what_nobody_vouches_for_that(name):
    assert sources.trial(name, 0.7, registered=False) == []


def test_a_broken_promise_is_seen(monkeypatch):
    monkeypatch.setattr("grailbench.data.fetch._check", lambda archive, path: {"archive_sha256": "", "checked": "x"})
    monkeypatch.setattr(cached.File, "close", lambda self: None)
    wrong = " ".join(sources.trial("sends nothing whole", 0.5, registered=True))
    assert "left" in wrong


def test_from_a_server_that_asks_to_wait_nothing_more_is_asked(cache):
    with sources.served() as server:
        server.act = sources.FAULTS["answers 429"].make(0)
        wanted = [dataset(name, f"{name}.gra.gz", from_=[server.url + "/{file}"]) for name in "abc"]
        results = fetch(wanted, hosts=Hosts())
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


def test_the_command_waits_as_long_as_it_is_told_and_ends_with_two_and_the_remedy(cache, monkeypatch):
    with sources.served() as server:
        server.act = sources.FAULTS["sends nothing"].make(0)
        wanted = [dataset("a", "a.gra.gz", from_=[server.url + "/{file}"])]
        monkeypatch.setattr("grailbench.data.locate.choose", lambda *args: wanted)
        result = CliRunner().invoke(cli, ["fetch", "a", "--timeout", "0.2"], standalone_mode=False)
    assert isinstance(result.exception, InputError)
    assert "--mirror FOLDER-or-URL adds a source" in str(result.exception)
    assert f"{server.url}/a.gra.gz: 127.0.0.1 is out of reach: it sent nothing for 0.2 s (--timeout" in result.output


def test_a_file_that_changed_between_runs_is_named_and_the_first_stays(cache):
    with sources.served() as server:
        wanted = dataset("a", "a.gra.gz", from_=[server.url + "/{file}"])
        first = one(fetch([wanted], hosts=Hosts()))
        server.act = sources.FAULTS["sends another file"].make(0)
        assert one(fetch([wanted], hosts=Hosts())).status == "held"
        cached.discard(first.path)
        cached.discard(cached.download_path("a.gra.gz"))
        again = one(fetch([wanted], hosts=Hosts()))
    assert again.status == "missing"
    assert f"{server.url}/a.gra.gz: its sha256 is" in again.reasons[0]
    assert "delete its entry" in again.reasons[0]
