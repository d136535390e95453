"""`python -m tictactoe_env.certificates`: certificates, checked with nothing but the package."""

import pytest
from json_certificates import certified, verified, write_json
from programs import without
from sample_players import LineCounter
from text_cases import refuses

from tictactoe_env import plain_proof
from tictactoe_env.certificates.__main__ import main
from tictactoe_env.certificates.certificate import certify, write
from tictactoe_env.certificates.stated import CertificateError
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules

WON = Rules(1, 3, 2)
DRAWN = Rules(2, 3, 3)


@pytest.fixture
def folder(tmp_path):
    """Certificates of three players, and that of dqn with another figure."""
    for name in ("maskable_ppo", "search-depth=1", "dqn"):
        content = certified(make_opponent(name, Rules()), name, Rules())
        if name == "dqn":
            content["as_x"]["vs_random"]["win"] = 1.0
        write_json(content, tmp_path / name / "certificate.json")
    write(certify(MinimaxPolicy(WON), "won", WON, reach_only=True), tmp_path / "won.json")
    return tmp_path


def test_the_verdict_of_each_certificate_is_printed_and_what_is_wrong_or_missing_is_refused(
    folder, capsys
):
    names = ["maskable_ppo", "gone", "search-depth=1/certificate.json", "dqn", "won.json"]
    paths = [str(folder / name) for name in names]
    assert main(paths) == 1
    out, err = capsys.readouterr()
    starts = ["PROVEN on 3x3", "on 3x3, 3 in a row it can be beaten as O (a1 b2", "PROVEN on 1x3"]
    lines = out.splitlines()
    assert all(line.startswith(start) for line, start in zip(lines[::2], starts, strict=True))
    for line, path in zip(lines[1::2], paths[::2], strict=True):
        assert line.startswith(f"verified: {path} (")
    missing, wrong = err.splitlines()
    assert missing.startswith("REFUSED: ")
    assert missing.count(paths[1]) == 1
    assert wrong.startswith(f"REFUSED: {paths[3]}: ")
    assert "as_x.vs_random.win" in wrong


@pytest.mark.parametrize("verifier", [main, plain_proof.main])
@pytest.mark.parametrize(
    ("files", "code", "code_if_proven"),
    [
        (["safe"], 0, 0),
        (["one side"], 0, 0),
        (["beaten"], 0, 3),
        (["wins as X, loses as O"], 0, 3),
        (["safe", "beaten", "safe"], 0, 3),
        (["wrong"], 1, 1),
        (["wrong", "safe"], 1, 1),
        (["beaten", "missing", "safe"], 1, 1),
    ],
)
def test_the_exit_code_says_whether_no_certificate_is_refused_or_nobody_can_be_beaten(
    verifier, files, code, code_if_proven, tmp_path, capsys
):
    safe = certified(MinimaxPolicy(DRAWN), "safe", DRAWN)
    contents = {
        "safe": safe,
        "one side": certified(MinimaxPolicy(WON), "X", WON, reach_only=True, sides=("X",)),
        "beaten": certified(RandomPolicy(), "random", DRAWN),
        "wins as X, loses as O": certified(MinimaxPolicy(WON), "both", WON),
        "wrong": {**safe, "unbeatable": False},
    }
    for name, content in contents.items():
        write_json(content, tmp_path / name)
    paths = [str(tmp_path / name) for name in files]
    assert verifier(paths) == code
    assert verifier(["--proven", *paths]) == code_if_proven
    with pytest.raises(SystemExit) as ended:
        verifier(["--proven"])
    assert ended.value.code == 2


def test_a_certificate_beyond_the_limit_is_refused_and_the_limit_can_be_raised(folder, capsys):
    """What is stated bounds the walk too, so a file that understates it is stopped."""
    path = folder / "large.json"
    rules = Rules(4, 4, 4)
    content = certified(LineCounter(rules), "lines", rules, sides=("O",))
    found = content["as_o"]["positions"]
    write_json(content, path)
    assert main([str(path), "--max-positions", str(found)]) == 0
    assert main([str(path), "--max-positions", str(found - 1)]) == 1
    assert "--max-positions" in capsys.readouterr().err
    content["as_o"]["positions"] = 100
    with refuses("as_o.positions", 100, error=CertificateError):
        verified(content)


def test_as_a_program_it_needs_numpy_and_gymnasium_only(folder):
    program = "import runpy; runpy.run_module('tictactoe_env.certificates', run_name='__main__')"
    said = without("torch cyclopts rich joblib", program, folder / "maskable_ppo")
    assert said.startswith("PROVEN on 3x3")
