"""`python -m tictactoe_env.certificates`: certificates, checked with nothing but the package."""

import subprocess
import sys

import pytest

from tictactoe_env.certificates.__main__ import main
from tictactoe_env.certificates.certificate import certify, write
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.opponents import make_opponent
from tictactoe_env.rules import Rules

WON = Rules(1, 3, 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Certificates of four players; that of dqn is changed afterwards."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("maskable_ppo", "search-depth=1", "minimax", "dqn"):
        content = certify(make_opponent(name, Rules()), name, Rules())
        if name == "dqn":
            content["as_x"]["vs_random"]["win"] = 1.0
        write(content, folder / name / "certificate.json")
    write(certify(MinimaxPolicy(WON), "won", WON, lines_only=True), folder / "won.json")
    return folder


def test_it_prints_what_each_certificate_proves_of_each_side(folder, capsys):
    names = ["maskable_ppo", "search-depth=1", "minimax/certificate.json", "won.json"]
    assert main([str(folder / name) for name in names]) == 0
    lines = capsys.readouterr().out.replace(f"{folder}/", "").splitlines()
    about = "4,520 positions of 3x3, 3 in a row): every result follows from the moves"
    assert lines[:8] == [
        f"maskable_ppo (maskable_ppo, {about}",
        "  as X: unbeatable, optimal",
        "  as O: unbeatable, optimal",
        f"search-depth=1 (search-depth=1, {about}",
        "  as X: unbeatable",
        "  as O: can be beaten: a1 b2 c2 a3 c1 b1 c3",
        f"minimax/certificate.json (minimax, {about}",
        "  as X: unbeatable",
    ]
    assert lines[10:] == ["  as X: wins against everybody", "  as O: can be beaten: b1 a1 c1"]


def test_a_changed_and_a_missing_file_are_refused_and_the_others_are_checked(folder, capsys):
    gone, changed, good = folder / "gone", folder / "dqn", folder / "minimax"
    assert main([str(gone), str(changed), str(good)]) == 1
    out, err = capsys.readouterr()
    missing, wrong = err.splitlines()
    assert missing.startswith(f"{gone}: REFUSED: no certificate at ")
    assert wrong.startswith(f"{changed}: REFUSED: ")
    assert "as_x.vs_random.win" in wrong
    assert out.startswith(f"{good} (minimax, ")


def test_as_a_program_it_needs_numpy_and_gymnasium_only(folder):
    blocked = "import sys; sys.modules |= dict.fromkeys(['torch', 'cyclopts', 'rich', 'joblib'])"
    run = "import runpy; runpy.run_module('tictactoe_env.certificates', run_name='__main__')"
    program = f"{blocked}; sys.argv[1:] = ['dqn']; {run}"
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"dqn: REFUSED: ")
