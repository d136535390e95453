"""The page in a real Chromium: `make browser`. Skipped where there is none (Debian: apt-get install chromium)."""

import os
import re
import shutil
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tictactoe_env.analysis import truth, verdicts
from tictactoe_env.certificate import certify, perfect_table, write
from tictactoe_env.games import Game, GameStore, Player
from tictactoe_env.match import action_values
from tictactoe_env.notation import cell_text
from tictactoe_env.policy import RandomPolicy, TabularPolicy, one_hot
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parent.parent
SQUARE = Rules()
THROWN = Game(
    x=Player("human", "human"), o=Player("agent", "minimax"), moves=(0, 3, 1, 4, 2), origin="web"
)  # O's a2 loses
WIDE = Game(
    x=Player("human", "Ann"),
    o=Player("agent", "gone"),
    moves=(0, 1, 6, 7, 12, 13, 18),
    rules=Rules(5, 5, 4),
    origin="human",
)
DESKTOP, PHONE = {"width": 1280, "height": 860}, {"width": 360, "height": 740}


def first_free(rules):
    """A player that marks the first free cell: it can be beaten, always in the same way."""
    boards = positions_of(rules).boards[positions_of(rules).unfinished]
    return TabularPolicy(rules, one_hot((boards == 0).argmax(axis=1), rules.cells))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """runs/strong, which cannot be beaten, runs/weak, which can, a broken certificate, and two games: 1 THROWN, 2 WIDE."""
    folder = tmp_path_factory.mktemp("browser")
    for name, policy in (("strong", perfect_table(SQUARE)), ("weak", first_free(SQUARE))):
        (folder / "runs" / name).mkdir(parents=True)
        write(
            certify(policy, "dqn", seed=3, config={"steps": 1000}),
            folder / "runs" / name / "certificate.json",
        )
    (folder / "models").mkdir()
    (folder / "models" / "broken.json").write_text("{")
    with GameStore(folder / "games.db") as store:
        store.add_many([THROWN, WIDE])
    return folder


@pytest.fixture(scope="module")
def address(folder):
    process = subprocess.Popen(
        [sys.executable, "-m", "web.server", "--port", "0", "--store", "games.db"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    yield re.search(r"http://[^ ]*[0-9]", process.stdout.readline())[0]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)


@pytest.fixture(scope="module")
def chromium():
    sync_api = pytest.importorskip("playwright.sync_api")
    program = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if program is None:
        pytest.skip("no chromium here: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium, address):
    """open_page(path, **settings of the context): a page of the server. No page may report an error, unless `errors` allows it."""
    contexts, reports = [], []

    def open_page(path, errors=False, **settings):
        context = chromium.new_context(base_url=address, **{"viewport": DESKTOP, **settings})
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        if not errors:
            page.on(
                "console",
                lambda message: (
                    reports.append(message.text) if message.type in ("error", "warning") else None
                ),
            )
            page.on("pageerror", lambda error: reports.append(str(error)))
        page.goto(path)
        page.locator("main h1").wait_for(state="attached")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert reports == []


def cell(page, name):
    return page.get_by_role("gridcell", name=re.compile(f"^{name},"))


def status(page):
    return page.locator(".status")


def expect(locator):
    from playwright.sync_api import expect

    return expect(locator)


def your_move(page):
    """Wait until a person may choose a cell."""
    expect(page.locator(".grid.open")).to_be_visible()
    expect(status(page)).to_have_text("Your move")


def kept_game(page, folder):
    """The game that the page says it has kept."""
    link = page.locator(".note a")
    link.wait_for()
    with GameStore(folder / "games.db", read_only=True) as store:
        return store.get(int(link.get_attribute("href").rsplit("/", 1)[1]))


def marks(page):
    """The board that is shown, +1, -1, 0."""
    sides = page.locator(".stage-board .tile").evaluate_all(
        "tiles => tiles.map(tile => tile.dataset.side)"
    )
    return [{"X": 1, "O": -1}.get(side, 0) for side in sides]


# --- playing -------------------------------------------------------------------------------------------------------


def test_a_whole_game_against_perfect_play_by_mouse(open_page, folder):
    page = open_page("/?x=human&o=minimax")
    while page.locator(".note a").count() == 0:
        page.locator(".grid.open, .note a").first.wait_for()
        free = page.locator(".grid.open .cell[aria-disabled=false]")
        if free.count():
            free.first.click()
    game = kept_game(page, folder)
    assert (str(game.x), str(game.o), game.origin, game.side) == (
        "human:human",
        "agent:minimax",
        "web",
        "X",
    )
    assert game.result in ("draw", "O")
    expect(status(page)).to_have_text("A draw" if game.result == "draw" else "minimax wins")
    assert marks(page) == game.boards[-1].tolist()


def test_a_whole_game_by_keyboard_alone(open_page, folder):
    page = open_page("/?x=human&o=runs%2Fweak")
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('role')") == "gridcell":
            break
    expect(cell(page, "b2")).to_be_focused()  # the one cell that Tab reaches
    assert page.locator(".cell[tabindex='0']").count() == 1
    assert (
        page.locator(".cell:focus .tile").evaluate("tile => getComputedStyle(tile).outlineStyle")
        == "solid"
    )
    page.keyboard.press("Enter")
    expect(cell(page, "a1")).to_have_attribute("aria-label", "a1, O, last move")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")  # it stays on the board
    page.keyboard.press("ArrowUp")
    expect(cell(page, "c1")).to_be_focused()
    page.keyboard.press("Space")
    expect(cell(page, "b1")).to_have_attribute("aria-label", "b1, O, last move")
    page.keyboard.press("7")
    expect(status(page)).to_have_text("You win")
    expect(page.locator("#live")).to_contain_text("Kept as game")
    game = kept_game(page, folder)
    assert (game.text, game.result, str(game.o)[:14]) == ("b2 a1 c1 b1 a3", "X", "run:runs/weak:")
    page.get_by_role("button", name="New game").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "gridcell"


def test_a_taken_cell_and_a_turn_of_the_other_are_not_played(open_page):
    page = open_page("/?x=human&o=human")
    cell(page, "b2").click()
    expect(status(page)).to_have_text("O to move")
    expect(page.locator(".grid.open")).to_be_visible()
    cell(page, "b2").click(force=True)
    cell(page, "a1").click()
    expect(status(page)).to_have_text("X to move")
    assert sum(map(abs, marks(page))) == 2
    expect(cell(page, "b2")).to_have_attribute("aria-disabled", "true")


def test_a_person_plays_o_if_asked_to(open_page):
    page = open_page("/?x=runs%2Fweak&o=human")
    expect(cell(page, "a1")).to_have_attribute("aria-label", "a1, X, last move")
    your_move(page)
    page.get_by_role("button", name="Swap sides").click()
    expect(page.get_by_label("X is played by")).to_have_value("human")
    expect(page.get_by_label("O is played by")).to_have_value("runs/weak")
    cell(page, "a1").click()
    expect(cell(page, "b1")).to_have_attribute("aria-label", "b1, O, last move")


def test_moves_are_taken_back_with_the_answer(open_page):
    page = open_page("/?x=human&o=runs%2Fweak")
    undo = page.get_by_role("button", name="Undo")
    expect(undo).to_be_disabled()
    for name in ("c3", "c2"):
        cell(page, name).click()
        your_move(page)
    undo.click()
    expect(cell(page, "c2")).to_have_attribute("aria-label", "c2, free")
    assert sum(map(abs, marks(page))) == 2
    undo.click()
    expect(undo).to_be_disabled()
    assert marks(page) == [0] * 9


def test_a_resigned_game_is_kept_as_such(open_page, folder):
    page = open_page("/?x=human&o=minimax")
    cell(page, "b2").click()
    your_move(page)
    page.get_by_role("button", name="Resign").click()
    expect(status(page)).to_have_text("minimax wins: you resigned")
    game = kept_game(page, folder)
    assert (game.ended, game.result, len(game.moves)) == ("resigned", "O", 2)
    expect(page.locator(".note")).to_contain_text("X resigned a position that was a draw")


def test_two_agents_play_at_the_speed_that_is_set(open_page, folder):
    page = open_page("/")
    page.get_by_label("X is played by").select_option("runs/strong")
    page.get_by_label("O is played by").select_option("search-depth=2")
    page.get_by_label("Time for a move").fill("0")
    expect(status(page)).to_have_text("A draw")
    game = kept_game(page, folder)
    assert (game.x.name, game.o.name, game.result, game.ended, game.side) == (
        "runs/strong",
        "search-depth=2",
        "draw",
        "full",
        None,
    )
    page.reload()
    expect(page.get_by_label("Time for a move")).to_have_value("0")  # the speed is remembered


def test_agents_are_stopped_and_led_move_by_move(open_page):
    page = open_page("/?x=minimax&o=random")
    page.get_by_label("Time for a move").fill("3000")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="New game").click()
    page.get_by_role("button", name="Pause").click()
    assert marks(page) == [0] * 9
    for count in (1, 2, 3):
        page.get_by_role("button", name="Step").click()
        expect(page.locator(".stage-board .mark")).to_have_count(count)
    page.get_by_label("Time for a move").fill("0")
    page.get_by_role("button", name="Go on").click()
    page.locator(".note a").wait_for()


@pytest.mark.parametrize(
    ("board", "agent"),
    [
        ("4x4x4", "search-depth=2"),
        ("5x5x4", "mcts-playouts=50"),
        ("7x7x5", "search-depth=2"),
        ("3x4x3", "minimax"),
    ],
)
def test_larger_boards_are_played(open_page, board, agent):
    page = open_page("/")
    page.get_by_label("Board", exact=True).select_option(board)
    page.get_by_label("O is played by").select_option(agent)
    rows, cols, _ = map(int, board.split("x"))
    assert page.get_by_role("gridcell").count() == rows * cols
    cell(page, "b2").click()
    your_move(page)
    assert sum(map(abs, marks(page))) == 2


def test_who_does_not_play_on_a_board_cannot_be_chosen_there(open_page):
    page = open_page("/?x=human&o=runs%2Fstrong")
    page.get_by_label("Board", exact=True).select_option("5x5x4")
    expect(page.get_by_label("O is played by")).to_have_value("search-depth=4")
    expect(page.locator(".note")).to_have_text("runs/strong does not play on this board.")
    for name in ("minimax", "runs/strong"):
        assert page.locator(f"#seat-o option[value='{name}']").is_disabled()


def test_moves_are_announced(open_page):
    page = open_page("/?x=human&o=runs%2Fweak")
    live = page.locator("#live")
    assert (live.get_attribute("role"), live.get_attribute("aria-live")) == ("status", "polite")
    expect(live).to_have_text("Your move.")
    cell(page, "b2").click()
    expect(live).to_have_text("O plays a1. Your move.")


def test_when_the_server_is_gone_the_page_says_so(open_page):
    page = open_page("/?x=human&o=minimax", errors=True)
    page.route("**/api/**", lambda route: route.abort())
    cell(page, "b2").click()
    expect(status(page)).to_have_text("The game cannot go on")
    expect(page.locator(".note")).to_have_text("the server does not answer: is it still running?")


# --- thoughts and the truth ----------------------------------------------------------------------------------------


def written(page, kind):
    """What stands on the free cells, by the cell's number."""
    texts = page.locator(".stage-board .tile").evaluate_all(
        f"tiles => tiles.map(tile => tile.querySelector('.{kind}')?.textContent ?? null)"
    )
    return {number: text for number, text in enumerate(texts) if text is not None}


def test_what_an_agent_thinks_is_shown_and_right(open_page):
    page = open_page("/?x=human&o=runs%2Fweak")
    page.get_by_text("What it thinks").click()
    cell(page, "b2").click()
    your_move(page)
    page.locator(".tile .value").first.wait_for()
    board = np.array([-1, 0, 0, 0, 1, 0, 0, 0, 0], dtype=np.int8)
    values = action_values("X", first_free(SQUARE), RandomPolicy(), board=board)
    found = {
        number: float(text.replace("\N{MINUS SIGN}", "-"))
        for number, text in written(page, "value").items()
    }
    assert found == {
        number: pytest.approx(value, abs=0.0051)
        for number, value in enumerate(values)
        if not np.isnan(value)
    }
    assert page.locator(".tile.good").count() == (np.nan_to_num(values) >= 0).sum() - 2
    assert "thought to be worth" in cell(page, "b1").get_attribute("aria-label")
    expect(page.locator(".legend")).to_contain_text(
        "against random moves; exact, not its own belief"
    )
    page.get_by_text("What it thinks").click()
    expect(page.locator(".tile .value")).to_have_count(0)


def test_the_truth_is_shown_and_right(open_page):
    page = open_page("/?x=human&o=human")
    page.get_by_text("The truth").click()
    cell(page, "a1").click()
    page.locator(".tile .truth").first.wait_for()
    worths = truth(np.array([1, 0, 0, 0, 0, 0, 0, 0, 0], dtype=np.int8), SQUARE).moves
    assert written(page, "truth") == {
        number: worth.text for number, worth in enumerate(worths) if worth
    }
    assert written(page, "truth")[4] == "draws"
    expect(page.locator(".legend")).to_have_text("With best play from here, O draws.")


def test_a_search_shows_how_likely_it_plays_where_nothing_is_solved(open_page):
    page = open_page("/?x=human&o=search-depth%3D1&board=5x5x4")
    page.get_by_text("What it thinks").click()
    page.get_by_text("The truth").click()
    page.locator(".tile .value").first.wait_for()
    shares = [int(text.rstrip(" %")) for text in written(page, "value").values()]
    assert 95 <= sum(shares) <= 105
    expect(page.locator(".legend")).to_contain_text("5x5, 4 in a row is too large to be solved")


def test_the_switches_are_remembered(open_page):
    page = open_page("/")
    page.get_by_text("The truth").click()
    page.reload()
    expect(page.get_by_role("switch", name="The truth")).to_be_checked()
    expect(page.get_by_role("switch", name="What it thinks")).not_to_be_checked()


# --- games ---------------------------------------------------------------------------------------------------------


def test_an_old_game_is_replayed_at_its_address_with_the_verdict_on_every_move(open_page):
    page = open_page("/games/1")
    expect(page.locator(".moves .verdict")).to_have_text(
        [verdict.text for verdict in verdicts(THROWN)]
    )
    expect(page.locator(".moves .decisive strong")).to_have_text("a2")
    for ply in range(1, 6):
        page.get_by_role("button", name="Forward").click()
        assert marks(page) == THROWN.boards[ply].tolist()
        expect(page.locator("[aria-current=step] strong")).to_have_text(
            cell_text(THROWN.moves[ply - 1], SQUARE)
        )
    expect(status(page)).to_have_text("Move 5 of 5: c1, X wins")
    assert page.locator(".strike path").count() == 1
    page.keyboard.press("ArrowLeft")
    assert marks(page) == THROWN.boards[4].tolist()
    page.keyboard.press("Home")
    assert marks(page) == THROWN.boards[0].tolist()
    page.keyboard.press("End")
    assert marks(page) == THROWN.boards[5].tolist()
    page.get_by_role("button", name="Back").click()
    assert marks(page) == THROWN.boards[4].tolist()
    page.locator(".moves button").nth(1).click()
    assert marks(page) == THROWN.boards[2].tolist()


def test_a_replay_runs_by_itself(open_page):
    page = open_page("/games/1")
    page.get_by_label("Speed").select_option("400")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(status(page)).to_have_text("Move 5 of 5: c1, X wins")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_a_game_that_nobody_can_judge_is_replayed_without_verdicts(open_page):
    page = open_page("/games/2")
    page.get_by_role("button", name="To the end").click()
    assert marks(page) == WIDE.boards[-1].tolist()
    expect(page.locator(".replay .note")).to_have_text(
        "No verdicts: 5x5, 4 in a row is too large to be solved."
    )


def test_the_list_of_games_leads_to_each_and_back(open_page):
    page = open_page("/")
    page.get_by_role("link", name="Games", exact=True).click()
    expect(page.locator("h1")).to_be_focused()
    assert page.title() == "Games · tic-tac-toe"
    page.locator("a.game[href='/games/1']").click()
    expect(page.locator("h1")).to_have_text("Game 1")
    assert page.url.endswith("/games/1")
    page.go_back()
    expect(page.locator("h1")).to_have_text("Games")


def test_the_list_of_games_is_chosen_from(open_page):
    page = open_page("/games")
    page.get_by_label("Player").fill("Ann")
    page.get_by_label("Player").press("Enter")
    expect(page.locator("a.game")).to_have_count(1)
    expect(page.locator("a.game")).to_have_attribute("href", "/games/2")
    page.get_by_label("Result").select_option("draw")
    expect(page.locator(".count")).to_have_text("No such game.")
    assert page.url.endswith("/games?player=Ann&result=draw")
    page.reload()
    expect(page.get_by_label("Player")).to_have_value("Ann")


def test_older_games_are_added_to_the_list(open_page, folder):
    with GameStore(folder / "games.db") as store:
        store.add_many([Game(x=Player("human", "Bea"), moves=THROWN.moves, origin="web")] * 45)
    page = open_page("/games?player=Bea")
    expect(page.locator("a.game")).to_have_count(20)
    expect(page.locator(".count")).to_have_text("45 games")
    page.get_by_role("button", name="Older games").click()
    expect(page.locator("a.game")).to_have_count(40)
    page.get_by_role("button", name="Older games").click()
    expect(page.locator("a.game")).to_have_count(45)
    expect(page.get_by_role("button", name="Older games")).to_be_hidden()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/games/9999", "unknown game 9999"),
        ("/agents/nobody", "unknown agent"),
        ("/nowhere", "There is nothing at /nowhere"),
    ],
)
def test_an_address_that_leads_nowhere_says_so(open_page, path, reason):
    page = open_page(path, errors=True)
    expect(page.locator("h1")).to_have_text("Nothing here")
    expect(page.locator("main")).to_contain_text(reason)


# --- agents --------------------------------------------------------------------------------------------------------


def test_the_page_of_an_agent_shows_what_is_proven(open_page):
    page = open_page("/agents/runs/strong")
    expect(page.locator(".statement")).to_contain_text("Proven: nobody can beat it.")
    rows = page.locator("tbody tr")
    figures = certify(perfect_table(SQUARE), "dqn")
    rates = figures["as_x"]["vs_random"]
    expect(rows.first.locator("td").nth(0)).to_have_text(f"{100 * rates['win']:.2f}")
    expect(rows.first.locator("td").nth(1)).to_have_text(f"{100 * rates['draw']:.2f}")
    expect(rows.nth(2).locator("td").nth(1)).to_have_text("100")
    assert page.locator(".losing").count() == 0


def test_the_game_that_an_agent_loses_is_shown_and_can_be_played(open_page, folder):
    page = open_page("/agents/runs/weak")
    expect(page.locator(".statement")).to_contain_text("It can be beaten as X and as O.")
    losing = page.locator(".losing").nth(1)
    line = certify(first_free(SQUARE), "dqn")["as_o"]["losing_line"]
    expect(losing.locator("p").first).to_contain_text(" ".join(line))
    losing.get_by_role("button", name="To the end").click()
    expect(losing.locator(".status")).to_contain_text("X wins")
    expect(losing.locator(".moves .decisive")).to_have_count(1)
    losing.get_by_role("link", name="Beat it yourself").click()
    for name in line[::2]:
        hint = page.locator(".cell.hint")
        expect(hint).to_have_attribute("aria-label", re.compile(f"^{name}, free, suggested"))
        hint.click()
    expect(status(page)).to_have_text("You win")
    game = kept_game(page, folder)
    assert (game.text.split(), game.result) == (line, "X")


def test_leaving_the_losing_line_is_told(open_page):
    page = open_page("/?x=human&o=runs%2Fweak&line=4,0,2,1,6")
    expect(page.locator(".cell.hint")).to_have_count(1)
    expect(page.locator(".note")).to_have_text("The dashed cell follows the game that it loses.")
    cell(page, "c3").click()
    expect(page.locator(".note")).to_have_text("The game has left the losing line.")
    expect(page.locator(".cell.hint")).to_have_count(0)


def test_a_broken_certificate_is_listed_with_the_reason(open_page):
    page = open_page("/agents")
    expect(page.locator("a.broken")).to_contain_text("models/broken.json")
    expect(page.locator("a.broken")).to_contain_text("not JSON")
    page.locator("a.broken").click()
    expect(page.locator(".error")).to_contain_text("not JSON")


# --- for everybody -------------------------------------------------------------------------------------------------

PAGES = {
    "play": "/?x=human&o=runs%2Fweak",
    "large": "/?x=human&o=search-depth%3D2&board=7x7x5",
    "watch": "/?x=random&o=random",
    "games": "/games",
    "game": "/games/1",
    "agents": "/agents",
    "strong": "/agents/runs/strong",
    "weak": "/agents/runs/weak",
    "nowhere": "/nowhere",
}


def shown(open_page, name, **settings):
    """A page with all that it may show: both switches on, a move made, the details open."""
    page = open_page(PAGES[name], errors=name == "nowhere", **settings)
    for switch in page.locator(".switch").all():
        switch.click()
    if name in ("play", "large"):
        cell(page, "b2").click()
        your_move(page)
        page.locator(".tile .value").first.wait_for()
    if name in ("game", "weak"):
        page.locator(".verdict", has_text="keeps").first.wait_for()
        for button in page.get_by_role("button", name="Forward").all():
            button.click()
            button.click()
        page.locator(".tile .truth").first.wait_for()
    if name == "watch":
        page.get_by_role("button", name="Pause").click()
    for summary in page.locator("summary").all():
        summary.click()
    return page


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wider_than_a_phone(open_page, name):
    page = shown(open_page, name, viewport=PHONE, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    small = page.locator("button:visible, select:visible, nav a:visible").evaluate_all(
        "all => all.map(one => [one.getAttribute('aria-label') || one.textContent, one.getBoundingClientRect()])"
        ".filter(([, box]) => box.width < 24 || box.height < 24).map(([text]) => text)"
    )
    assert small == []  # of what a finger touches


def test_a_finger_plays(open_page):
    page = open_page("/?x=human&o=runs%2Fweak", viewport=PHONE, has_touch=True, is_mobile=True)
    cell(page, "b2").tap()
    expect(cell(page, "a1")).to_have_attribute("aria-label", "a1, O, last move")


CONTRASTS = """() => {
  const numbers = text => text.match(/-?[\\d.]+(e-?\\d+)?/g).map(Number);
  const parse = text => {
    if (text.startsWith("rgb")) { const [r, g, b, a = 1] = numbers(text); return [r / 255, g / 255, b / 255, a]; }
    if (text.startsWith("color(srgb")) { const [r, g, b, a = 1] = numbers(text.slice(10)); return [r, g, b, a]; }
    throw new Error("what colour is " + text);
  };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const linear = c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [1, 1, 1, 1]);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
    const style = getComputedStyle(element), box = element.getBoundingClientRect();
    if (!text || box.width <= 1 || style.visibility === "hidden" || element.closest("noscript, option, .hidden, :disabled")) continue;
    let opacity = 1;
    for (let at = element; at; at = at.parentElement) opacity *= +getComputedStyle(at).opacity;
    const back = behind(element), colour = parse(style.color);
    const front = over([...colour.slice(0, 3), colour[3] * opacity], back);
    const [high, low] = [light(front), light(back)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && +style.fontWeight >= 700);
    const ratio = (high + 0.05) / (low + 0.05);
    found.push([text.slice(0, 40), ratio, large ? 3 : 4.5]);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_every_text_stands_out_from_its_background(open_page, name, scheme):
    page = shown(open_page, name, color_scheme=scheme, reduced_motion="reduce")
    found = page.evaluate(CONTRASTS)
    assert len(found) > 5
    assert [(text, round(ratio, 2)) for text, ratio, needed in found if ratio < needed] == []


@pytest.mark.parametrize("name", PAGES)
def test_everything_has_a_name_and_a_place(open_page, name):
    page = shown(open_page, name)
    assert page.locator("h1").count() == 1
    assert (
        page.get_by_role("main").count()
        == page.get_by_role("navigation").count()
        == page.get_by_role("banner").count()
        == 1
    )
    nameless = page.locator(
        "button, a, select, input, summary, [role=img], [role=grid], [role=region], section"
    ).evaluate_all(
        "all => all.filter(one => !(one.getAttribute('aria-label') || one.labels?.[0]?.textContent.trim() || one.textContent.trim()"
        " || one.querySelector('[aria-label]') || one.closest('[aria-hidden]'))).map(one => one.outerHTML.slice(0, 80))"
    )
    assert nameless == []
    ids = page.locator("[id]").evaluate_all("all => all.map(one => one.id)")
    assert len(ids) == len(set(ids))
    levels = [
        int(tag[1])
        for tag in page.locator("h1, h2, h3").evaluate_all("all => all.map(one => one.tagName)")
    ]
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_nothing_moves_where_that_is_not_wanted(open_page):
    page = open_page("/?x=human&o=human", reduced_motion="reduce")
    for name in ("a1", "a2", "b1", "b2", "c1"):
        cell(page, name).click()
    expect(status(page)).to_have_text("X wins")
    assert page.evaluate("document.getAnimations().length") == 0


def test_a_number_marks_a_cell_without_any_focus_but_not_while_something_else_has_it(open_page):
    page = open_page("/?x=human&o=human")
    expect(cell(page, "b2")).to_have_attribute(
        "aria-disabled", "false"
    )  # the board is there and waits for a move
    page.keyboard.press("5")
    expect(cell(page, "b2")).to_have_attribute("aria-label", "b2, X, last move")
    page.get_by_label("The truth").focus()
    page.keyboard.press("1")
    expect(cell(page, "a1")).to_have_attribute("aria-label", "a1, free")


def test_the_first_stop_of_the_keyboard_skips_to_the_content(open_page):
    page = open_page("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(cell(page, "b2")).to_be_focused()
