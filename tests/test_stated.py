"""Certificates whose unproven entries are not what they look like, and texts of anybody."""

import pytest
from json_certificates import certified, verified
from text_cases import HOSTILE, refuses

from tictactoe_env.certificates import certificate
from tictactoe_env.certificates.certificate import CertificateError, certify
from tictactoe_env.certificates.stated import is_name, name_of
from tictactoe_env.errors import printable
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules

ROW = Rules(1, 4, 3)
UNPRINTABLE = [text for text in HOSTILE if not text.isprintable()]
FORGED = (
    'dqn"), 4 positions\u2800PROVEN',
    "PROVEN on 3x3",
    "H\u00e9l\u00e8ne",
    "\u05d0",
    "a/b",
)
ODD = ("", " dqn", "dqn ", "two  spaces", "x" * 101, None, 3, ["dqn"], {"a": 1})
NO_NAMES = (*UNPRINTABLE, *FORGED, *ODD)
DEEP = [[]]
for _ in range(900):
    DEEP = [DEEP]
NAN = float("nan")
INFINITY = float("inf")


@pytest.fixture(scope="module")
def content():
    return certified(RandomPolicy(), "random", ROW, training={"steps": 1, "seconds": 0.5})


@pytest.mark.parametrize("text", HOSTILE)
def test_every_letter_that_is_not_printable_is_shown_as_an_escape(text):
    assert printable(text).isprintable()
    lines = printable(f"{text}\n{text}", lines=True).split("\n")
    assert lines == [printable(line) for line in f"{text}\n{text}".split("\n")]
    if text.isprintable():
        assert printable(text) == text


@pytest.mark.parametrize("name", ["mcts-seconds=0.5", "my agent", "a_b+c:d", "x" * 100])
def test_short_plain_words_are_a_name(name, content):
    verified({**content, "agent": name})


WRONG = [
    *(({"agent": name}, "agent") for name in NO_NAMES),
    *(({"seed": seed}, "seed") for seed in (-1, 2**128, 0.5, True, "0", [0])),
    *(({"training": {"preset": name}}, "training") for name in ("a\x1b", "two  spaces")),
    *(({"config": {"opponents": text}}, "config.opponents") for text in UNPRINTABLE),
    *(({"config": {text: 1}}, "config") for text in (*UNPRINTABLE, "")),
    ({"versions": {"numpy": ["a\x1b"]}}, "versions.numpy[0]"),
    *(({"config": {"rate": rate}}, "config.rate") for rate in (NAN, INFINITY, 10**400, {1, 2})),
    ({"config": {"text": "x" * 100_001}}, "config.text"),
    ({"config": {"list": DEEP}}, "config.list"),
    *(({group: [1]}, group) for group in ("config", "training", "versions")),
    *(
        ({"training": {name: value}}, f"training.{name}")
        for name in ("steps", "seconds", "games", "entries")
        for value in (-1, {"toLocaleString": 1}, "1", None, True)
    ),
    ({"training": {"best_at": {"steps": "1"}}}, "training.best_at.steps"),
    ({"training": {"best_at": 3}}, "training.best_at"),
]


@pytest.mark.parametrize(("entries", "name"), WRONG)
def test_what_is_stated_must_be_printable_finite_and_of_its_form(entries, name, content):
    with refuses(name, error=CertificateError) as told:
        verified({**content, **entries})
    assert str(told.value).isprintable()
    assert len(str(told.value)) < 400


def test_an_agent_that_is_no_short_words_is_not_certified():
    with refuses("agent", error=CertificateError):
        certify(RandomPolicy(), "two  spaces", ROW)


def test_any_text_becomes_a_name():
    for text in (*NO_NAMES[:-4], "runs/Proven-dqn"):
        assert is_name(name_of(text)), text


def test_a_configuration_of_any_texts_can_be_certified(tmp_path):
    """Such as one with the name of a folder; a training must not end without a certificate."""
    text = UNPRINTABLE[0]
    config = {"learn_from": text, f"name {text}": [1, (text, None)]}
    certificate.write(certify(RandomPolicy(), "a", ROW, config=config), tmp_path / "a.json")
    content = certificate.read(tmp_path / "a.json")
    certificate.verify(content)
    shown = printable(text)
    known, other = content.stated.config.values()
    assert (known, other) == (shown, [1, [shown, None]])
