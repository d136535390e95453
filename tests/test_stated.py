"""Certificates whose unproven entries are not what they look like, and texts of anybody."""

import json

import pytest
from text_cases import HOSTILE, refuses

from tictactoe_env import certificate
from tictactoe_env.certificate import CertificateError, certify
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.printable import printable
from tictactoe_env.rules import Rules
from tictactoe_env.stated import StatedError, check_stated, is_words

ROW = Rules(1, 4, 3)
UNPRINTABLE = [text for text in HOSTILE if not text.isprintable()]
NO_NAMES = (*UNPRINTABLE, "", " dqn", "dqn ", "two  spaces", "x" * 101, None, 3, ["dqn"], {"a": 1})
DEEP = [[]]
for _ in range(900):
    DEEP = [DEEP]
NAN, INFINITY = float("nan"), float("inf")


@pytest.fixture(scope="module")
def content():
    return certify(RandomPolicy(), "random", ROW, training={"steps": 1, "seconds": 0.5})


@pytest.mark.parametrize("text", HOSTILE)
def test_every_letter_that_is_not_printable_is_shown_as_an_escape(text):
    assert printable(text).isprintable()
    lines = printable(f"{text}\n{text}", lines=True).split("\n")
    assert lines == [printable(line) for line in f"{text}\n{text}".split("\n")]
    if text.isprintable():
        assert printable(text) == text


def test_escapes_are_those_of_python():
    assert printable("a\x1b[8m\n\u202e\udc9b\U000e0001") == r"a\x1b[8m\n\u202e\udc9b\U000e0001"
    assert printable(3) == "3"
    assert printable("a\r\nb", lines=True) == "a\\r\nb"


@pytest.mark.parametrize(
    "name", ["dqn", "search-depth=4", "my agent", "H\u00e9l\u00e8ne", "x" * 100]
)
def test_short_words_are_a_name(name, content):
    assert is_words(name)
    certificate.verify({**content, "agent": name})


@pytest.mark.parametrize("name", NO_NAMES, ids=repr)
def test_an_agent_that_is_no_short_words_is_refused_everywhere(name, content, tmp_path):
    message = "agent must be short printable words, at most 100 letters"
    with refuses(message, error=StatedError):
        certify(RandomPolicy(), name, ROW)
    with refuses(message, error=CertificateError):
        certificate.verify({**content, "agent": name})
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps({**content, "agent": name}))
    with refuses(f"{path} is not a certificate: {message}", error=CertificateError) as raised:
        certificate.read(tmp_path)
    assert str(raised.value).isprintable()


WRONG = [
    *(
        ({"seed": seed}, "seed must be a whole number")
        for seed in (-1, 2**128, 0.5, True, "0", [0])
    ),
    *(({"training": {"preset": name}}, "training") for name in NO_NAMES),
    *(({"config": {"opponents": text}}, "config.opponents must be") for text in UNPRINTABLE),
    *(({"config": {text: 1}}, "a name in config must be") for text in (*UNPRINTABLE, "")),
    *(({"versions": {"numpy": [text]}}, "versions.numpy[0] must be") for text in UNPRINTABLE),
    *(({"config": {"rate": rate}}, "config.rate must be") for rate in (NAN, INFINITY, -INFINITY)),
    ({"config": {"rate": 10**400}}, "config.rate must be a finite number"),
    ({"config": {"text": "x" * 100_001}}, "config.text must be printable text of at most 100,000"),
    ({"config": {"rate": {1, 2}}}, "config.rate must be a finite number, text, true"),
    ({"config": {"list": [0] * 10_000}}, "must be one of at most 10,000 entries"),
    ({"config": {"list": DEEP}}, "in objects 20 deep"),
    *(({group: [1]}, f"{group} must be an object") for group in ("config", "training", "versions")),
    *(
        ({"training": {name: value}}, f"training.{name} must be a finite number of at least 0")
        for name in ("steps", "seconds", "games", "entries")
        for value in (-1, {"toLocaleString": 1}, "1", None, True)
    ),
    ({"training": {"best_at": {"steps": "1"}}}, "training.best_at.steps must be a finite number"),
    ({"training": {"best_at": 3}}, "training.best_at must be an object of steps and seconds"),
]


@pytest.mark.parametrize(("entries", "message"), WRONG, ids=lambda value: repr(value)[:60])
def test_what_is_stated_must_be_printable_finite_and_of_its_form(entries, message, content):
    changed = {**content, **entries}
    for ask in (check_stated, certificate.verify):
        with refuses(message) as raised:
            ask(changed)
        assert str(raised.value).isprintable()
        assert len(str(raised.value)) < 400


@pytest.mark.parametrize("text", UNPRINTABLE)
def test_a_configuration_of_any_texts_can_be_certified(text, tmp_path):
    """Such as one with the name of a folder; a training must not end without a certificate."""
    config = {"learn_from": text, text: [1, (text, None)]}
    certificate.write(certify(RandomPolicy(), "a", ROW, config=config), tmp_path / "a.json")
    content = certificate.read(tmp_path / "a.json")
    certificate.verify(content)
    shown = printable(text)
    assert content["config"] == {"learn_from": shown, shown: [1, [shown, None]]}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_numbers_that_are_not_finite_are_refused_in_every_entry_of_a_file(
    number, content, tmp_path
):
    path = tmp_path / "certificate.json"
    for entry in ("seed", "as_x", "moves", "elo", "format"):
        text = json.dumps({**content, entry: "HERE"}).replace('"HERE"', number)
        path.write_text(text)
        with refuses(f"a number must be finite, got {number}", error=CertificateError):
            certificate.read(path)


@pytest.mark.parametrize(
    "name", ["agent", "seed", "config", "versions", "sha256_of_moves", "moves"]
)
def test_only_the_training_may_be_absent(name, content):
    changed = {key: value for key, value in content.items() if key != name}
    with pytest.raises(CertificateError):
        certificate.verify(changed)
    certificate.verify({key: value for key, value in content.items() if key != "training"})


@pytest.mark.parametrize("text", UNPRINTABLE)
def test_names_of_unknown_entries_are_shown_with_escapes(text, content):
    for changed in (
        {**content, text: 1},
        {**content, "as_x": {**content["as_x"], text: 1}},
        {**content, "as_x": {**content["as_x"], "losing_line": [text]}},
        {**content, "format": text},
        {**content, "board": {"rows": text, "cols": 4, "k": 3}},
        {**content, "moves": {**content["moves"], "....": text}},
        {**content, "moves": {**content["moves"], "....": {text: 1}}},
    ):
        with pytest.raises(CertificateError) as raised:
            certificate.verify(changed)
        assert str(raised.value).isprintable()


@pytest.mark.parametrize("value", ["nothing", "'nothing'", None])
def test_an_unknown_result_is_refused_whatever_its_value(value, content):
    with refuses("as_x.elo is 'nothing' when computed", error=CertificateError):
        certificate.verify({**content, "as_x": {**content["as_x"], "elo": value}})
