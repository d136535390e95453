"""The attack on the page's server finds faults that were planted, and the requests it draws."""

import random
import sys
from collections import Counter
from pathlib import Path

import pytest
from faulty_server import FAULTS

from attack import page, served
from attack.campaign import Case
from attack.malformed import for_files, malformed
from attack.served import Answer, serving, wrong_in

SERVER = Path(__file__).with_name("faulty_server.py")
NO_ANSWER = "is answered with 503"
FOUND = {  # a fault; the attack that finds it; what it says
    "fails": (page.send_malformed, "answered with 500"),
    "is_busy_and_does_not_say_for_how_long": (page.send_malformed, "answered with 503"),
    "lets_uvicorn_refuse_what_is_too_much": (page.crowd, "answered with 503: b'Service Unavail"),
    "describes_another_answer": (page.fuzz, "not of type"),
    "sends_any_file": (page.send_malformed, "sent a file that is not of the page"),
    "serves_other_pages": (page.ask_as_stranger, "not with 403"),
    "has_any_name": (page.ask_as_stranger, "not with 421"),
    "waits_for_silent_clients": (page.keep_silent, NO_ANSWER),
    "computes_where_it_listens": (page.load, "verdicts on a game takes"),
    "takes_much_memory": (page.memory, "a server has taken"),
    "logs_a_traceback": (page.end, "a traceback in the log"),
    "goes_on_after_its_end": (page.end, "the server still runs"),
    "leaves_a_process": (page.end, "1 processes of the server go on"),
}


CASES = [*FOUND.items(), ("is_busy_and_does_not_say_for_how_long", (page.fuzz, "Retry-After"))]


def case_in(folder, seed=0):
    return Case(0, random.Random(seed), folder, folder, Counter())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "found_by"), CASES, ids=lambda of: of if isinstance(of, str) else of[1]
)
def test_a_fault_of_the_server_is_found(fault, found_by, tmp_path, monkeypatch):
    attack, words = found_by
    if attack is page.fuzz:
        pytest.importorskip("schemathesis")
    monkeypatch.setattr(served, "LAST_WORDS", 5.0)
    with serving(tmp_path, (sys.executable, str(SERVER), fault)) as server:
        found = list(attack(case_in(tmp_path), server))
    assert any(words in one for one in found), found


@pytest.mark.slow
def test_a_server_without_a_fault_is_found_to_have_none(tmp_path):
    with serving(tmp_path) as server:
        for attack in (
            page.send_malformed,
            page.ask_as_stranger,
            page.crowd,
            page.keep_silent,
            page.end,
        ):
            assert list(attack(case_in(tmp_path), server)) == []


def test_the_same_seed_draws_the_same_requests_and_another_seed_others():
    first, again, other = (
        [malformed(draw) for _ in range(500)] + for_files(draw)
        for draw in map(random.Random, (1, 1, 2))
    )
    assert first == again != other
    assert len(set(first)) > 400
    assert all(isinstance(one, bytes) for one in first)


@pytest.mark.parametrize(
    ("status", "headers", "body", "wrong"),
    [
        (200, {}, b"", ""),
        (404, {}, b"{}", ""),
        (503, {"retry-after": "1"}, b"", ""),
        (503, {}, b"", "answered with 503: b''"),
        (500, {"retry-after": "1"}, b"x", "answered with 500: b'x'"),
        (
            400,
            {},
            b"Traceback (most recent",
            "answered with a traceback: b'Traceback (most recent'",
        ),
        (200, {}, served.SECRET.encode(), "sent a file that is not of the page"),
    ],
)
def test_what_no_answer_may_be(status, headers, body, wrong):
    assert wrong_in(Answer(status, headers, body)) == wrong


def test_each_fault_is_looked_for():
    assert FAULTS.keys() == FOUND.keys()
