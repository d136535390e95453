"""The things that a person does on the page, in a real Chromium: `pytest -m browser`.

1. Play a game by mouse, finger or keyboard, win, lose or draw, and read what decided it.
2. Ask for a hint, take moves back, resign, begin anew.
3. Choose another opponent or side, and go back to the game that was left.
4. Play on other boards.
5. Look at numbers: a player's own, its moves, its results against random moves, the truth.
6. Watch two agents.
7. Find a kept game, and replay it with a verdict on every move.
8. Look a player up: what is proven, how it learned, the game that it loses: "Beat it yourself".
9. Reload, follow links, go back, and lose the server.
10. Watch a player learn until nobody can beat it.
11. Read any page, in every theme and on every screen, and with a screen reader.

Each is tested in light colours on a desk, with a server, and in dark colours on a phone, with the
file of `make demo` if that can do it. No page may log an error. The tests are skipped where there
is no Chromium.
"""

import json
import re
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright
from serving import serving

from apps.players.gallery import Gallery
from apps.web import demo
from tictactoe_env import Rules, TabularPolicy, evaluate
from tictactoe_env.certificates.certificate import certify, read, verify, write
from tictactoe_env.certificates.trained import certificate_of
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.games import Game, GameStore, Participant
from tictactoe_env.notation import cell_text, parse_size
from tictactoe_env.opponents import easy_opponent
from tictactoe_env.policy import one_hot
from training.metrics import COLUMNS, write_metrics
from training.values import OwnValues, Scale, checked, write_values

expect.set_options(timeout=30_000)  # milliseconds; a busy machine is slow
pytestmark = pytest.mark.browser

SQUARE, BOARDS = Rules(), positions_of(Rules()).boards[positions_of(Rules()).unfinished]
PERFECT = MinimaxPolicy(SQUARE)
FIRST_FREE = TabularPolicy(SQUARE, one_hot((BOARDS == 0).argmax(axis=1), 9))  # can be beaten
ANN, MINIMAX = Participant("human", "Ann"), Participant("agent", "minimax")
THROWN = Game(x=ANN, o=MINIMAX, moves=(0, 3, 1, 4, 2), origin="web")  # by a2
TAKEN = Game(x=ANN, moves=(4, 1, 0, 1), ended="illegal", origin="human")  # lost by the first b1
FOUR = "6x7x4-gravity=true"
OWN, CHANCE, EXPECTED = "Its own estimate", "How likely it plays there", "Against random moves"


def in_browser(game, number):
    """A game as the page without a server keeps it."""
    values = {**game.as_json(), "id": number, "cells": game.moves}
    for side in "xo":
        values[side]["title"] = values[side]["name"]
    return values


SITE = Path(__file__).parent.parent / "build/docs"
KEPT = json.dumps([in_browser(TAKEN, 2), in_browser(THROWN, 1)])
DESK = {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"}
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
LOOKS = {"desk": DESK, "phone": {**PHONE, "color_scheme": "dark"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """runs/strong cannot be beaten; runs/weak can, and has values of its own."""
    folder = tmp_path_factory.mktemp("browser")
    runs, weak = folder / "runs", certify(FIRST_FREE, "dqn", seed=3)
    write(weak, runs / "weak" / "certificate.json")
    write(certify(PERFECT, "dqn", seed=3), runs / "strong" / "certificate.json")
    rows = [{**dict.fromkeys(COLUMNS, 0), "steps": steps} for steps in (0, 10)]
    write_metrics(runs / "strong" / "metrics.csv", rows)
    values = np.full(BOARDS.shape, 0.4)
    values[:, 2], known = np.nan, np.zeros(len(BOARDS), dtype=bool)
    scale = Scale("success: win 1, draw 0.5, loss 0", 0.0, 1.0)
    own = checked(OwnValues(values, scale, known), SQUARE)
    write_values(own, weak.sha256_of_moves, runs / "weak" / "values.npz")
    with GameStore(folder / "games.db") as store:
        store.add_many([THROWN, TAKEN])
    return folder


@pytest.fixture(scope="module")
def chromium(folder):
    """A browser, and the addresses of a server and of the page in a file."""
    programs = [*filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))]
    if not programs:
        pytest.skip("no chromium here: apt-get install chromium")
    file = folder / "demo.html"
    file.write_text(demo.page(Gallery([folder / "runs"])))
    with serving(folder) as (_, address), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=programs[0], args=["--no-sandbox"])
        yield browser, {"desk": address, "phone": f"{file.as_uri()}#"}


@pytest.fixture(params=LOOKS)
def look(request):
    return request.param


@pytest.fixture
def on_server():
    """For a test of what only the page with a server has."""


@pytest.fixture
def open_page(chromium, look, request):
    """open_page(path): the page in a browser of its own. It reports no error, unless `errors`."""
    reports, (browser, homes) = [], chromium

    def open_page(path, errors=False, **settings):
        context = browser.new_context(**{**LOOKS[look], **settings})
        context.add_init_script(
            f"location.protocol == 'file:' && (localStorage.games ??= {KEPT!r})"
        )
        request.addfinalizer(context.close)
        page = context.new_page()
        page.home = homes["desk" if "on_server" in request.fixturenames else look]
        if not errors:
            page.on("pageerror", lambda error: reports.append(str(error)))
            page.on("console", lambda one: one.type != "log" and reports.append(one.text))
        visit(page, path)
        return page

    yield open_page
    assert reports == []


def visit(page, path):
    """Open an address, and wait until the page is there."""
    page.goto(page.home + path if path[0] == "/" else path)
    page.locator("main h1").wait_for(state="attached")
    expect(page.locator(".waiting")).to_have_count(0)


def reload(page):
    """Reload a page of the server. A file's storage is empty after one reload in 40 in Chromium."""
    if page.home.startswith("http"):
        page.reload()


def cell(page, name):
    return page.get_by_role("gridcell", name=re.compile(f"^{name},"))


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def field(page, name):
    return page.get_by_label(name, exact=True)


def says(page, words, where=".status"):
    """Each of the words is shown somewhere in `where`."""
    for word in [words] if isinstance(words, str) else words:
        expect(page.locator(where).filter(visible=True).first).to_contain_text(word)


def choose(page, side, player):
    """Choose a player of a side, behind "more" if it is not among the first."""
    choice = field(page, f"{side} is played by")
    if not choice.locator(f"option[value='{player}']").count():
        choice.select_option("more")
    choice.select_option(player)


def seats(page, x, o):
    for side, player in (("X", x), ("O", o)):
        expect(field(page, f"{side} is played by")).to_have_value(player)


def your_move(page, marks):
    """Wait until so many cells are marked, and a person may move."""
    marked = page.locator(".stage-board .tile:is([data-side=X], [data-side=O])")
    expect(marked).to_have_count(marks)
    expect(page.locator(".grid.open")).to_be_visible()


def play(page, names, marks=0):
    """Mark cells, each when a person may move; an agent answers each move."""
    for turn, name in enumerate(names.split()):
        your_move(page, marks + 2 * turn)
        cell(page, name).click()


def written(page, kind):
    """The texts on the free cells, by the number of the cell."""
    texts = page.locator(".stage-board .tile").evaluate_all(
        f"tiles => tiles.map(tile => tile.querySelector('{kind}')?.textContent ?? null)"
    )
    return {number: text for number, text in enumerate(texts) if text is not None}


def kept_game(page, folder):
    """The game that the page says it has kept, with the server or in the browser."""
    number = page.locator(".caption a").get_attribute("href").rpartition("/")[2]
    if page.home.startswith("http"):
        with GameStore(folder / "games.db", read_only=True) as store:
            return store.get(int(number))
    kept = page.evaluate("JSON.parse(localStorage.games)[0]")
    assert kept["id"] == int(number)
    names = {side: Participant(kept[side]["kind"], kept[side]["name"]) for side in "xo"}
    ending = {name: kept[name] for name in ("ended", "result")}
    return Game(**names, moves=kept["cells"], origin="web", **ending)


# --- 1. play --------------------------------------------------------------------------------------

PLAYED = [  # the opponent; the cells of a person; the end, and what is said of it
    ("runs/weak", "b2 c1 a3", "You win", "let you", "b2 a1 c1 b1 a3, X line"),
    ("minimax-first", "b2 c1 a2 b3 c3", "draw", "Nobody", "b2 a1 c1 a3 a2 c2 b3 b1 c3, draw full"),
]


@pytest.mark.parametrize(("opponent", "cells", "end", "decided", "kept"), PLAYED)
def test_a_game_is_played_and_its_end_says_what_decided_it(
    open_page, folder, opponent, cells, end, decided, kept
):
    page = open_page(f"/?x=human&o={opponent}")
    play(page, cells)
    says(page, end)
    says(page, decided, ".note")
    game = kept_game(page, folder)
    assert f"{game.text}, {game.result} {game.ended}" == kept
    assert (str(game.x), game.o.name) == ("human:human", opponent)


def test_a_game_is_played_by_keyboard_alone_and_announced(open_page):
    page = open_page("/?x=human&o=runs/weak")
    live, focus = page.locator("#live[role=status][aria-live=polite]"), page.locator(":focus")

    def press(*keys):
        for key in keys:
            page.keyboard.press(key)

    expect(live).to_have_text("Your move.")
    press("Tab", "Enter", "Tab", "Tab")  # to the content, the invitation, the one cell for Tab
    expect(focus).to_have_attribute("aria-label", "b2, free")
    expect(focus.locator(".tile")).to_have_css("outline-style", "solid")
    press("Enter")
    expect(live).to_have_text("O plays a1. Your move.")
    press("ArrowRight", "ArrowRight", "ArrowUp")  # it stays on the board
    expect(focus).to_have_attribute("aria-label", "c1, free")
    press("5", "ArrowRight", "ArrowUp", "Space")  # 5 is a cell that is taken
    your_move(page, 4)
    press("7")
    says(page, "You win")
    expect(live).to_contain_text("Kept as game")


# --- 2. hint, undo, resign ------------------------------------------------------------------------


def test_a_hint_is_given_moves_are_taken_back_and_a_game_is_resigned(open_page, folder):
    page = open_page("/?x=human&o=minimax-first&moves=0,4,3,6")  # O threatens c1
    your_move(page, 4)
    button(page, "Hint").click()
    says(page, "c1", ".note")
    expect(page.locator(".cell.hint")).to_have_count(1)
    cell(page, "c1").click()
    your_move(page, 6)
    expect(page.locator(".cell.hint")).to_have_count(0)
    button(page, "Undo").click()
    your_move(page, 4)
    expect(button(page, "Undo")).to_be_disabled()  # the game began here
    play(page, "c1", 4)
    your_move(page, 6)
    button(page, "Resign").click()
    says(page, ["wins", "resigned"])
    says(page, "You resigned a drawn game", ".note")
    game = kept_game(page, folder)
    assert (game.ended, game.result, len(game.moves)) == ("resigned", "O", 6)


# --- 3. opponents and sides -----------------------------------------------------------------------


def test_another_opponent_or_side_is_chosen_and_the_game_that_was_left_is_there(open_page):
    page = open_page("/")
    seats(page, "human", "minimax-slip=0.3")  # an easy one
    choose(page, "O", "runs/weak")
    play(page, "b2")
    your_move(page, 2)
    button(page, "Swap sides").click()
    seats(page, "runs/weak", "human")
    your_move(page, 1)
    button(page, "Back to the game you left").click()
    your_move(page, 2)
    seats(page, "human", "runs/weak")
    choose(page, "O", "dqn-duel-first")  # it was trained as X
    seats(page, "dqn-duel-first", "human")
    says(page, "trained as X only", ".note")
    button(page, "Swap sides").click()
    says(page, "untrained", "#seat-O-about")


@pytest.mark.usefixtures("on_server")
def test_a_player_that_learns_from_a_game_says_so(open_page):
    page = open_page("/?x=human&o=runs/learner")
    expect(page.get_by_role("switch", name=re.compile("learns from this game"))).to_be_checked()


def test_the_player_that_wins_most_is_offered_with_a_hint_and_a_count_of_those_beaten(open_page):
    page = open_page("/")
    page.get_by_role("link", name="Can you beat it?").click()
    seats(page, "human", "dqn-duel-second")
    button(page, "Hint").click()
    says(page, "against perfect play. This opponent", ".note")
    play(page, "a1")
    button(page, "Resign").click()
    says(page, "your first move is b2", ".caption")
    button(page, "New game").click()
    play(page, "b2 b1 b3")
    says(page, "let you win", ".note")
    says(page, ["1.27", "beaten 1 of 7"], ".caption")
    page.locator(".caption").get_by_role("link", name=re.compile("The")).click()
    your_move(page, 0)
    expect(field(page, "O is played by")).to_have_value(re.compile("dimitars"))


# --- 4. boards ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("on_server")
def test_larger_boards_are_played_by_those_who_can(open_page):
    page = open_page("/?x=human&o=runs/strong&board=3x3")
    board, opponent = field(page, "Board"), field(page, "O is played by")
    board.select_option("5x5x4")
    expect(opponent).to_have_value("search-depth=4")
    says(page, "strong) does not play on this board", ".note")
    opponent.select_option("runs/strong")  # brings its board with it
    expect(board).to_have_value("3x3x3")
    played = {"4x4x4": "alphazero", "7x7x5": "mcts-playouts=50", FOUR: "search-depth=2"}
    played |= {"4x4x4-gravity=true": "minimax", "5x5x4": "random"}
    for size, agent in played.items():
        board.select_option(size)
        choose(page, "O", agent)
        expect(page.get_by_role("gridcell")).to_have_count(int(size[0]) * int(size[2]))
        play(page, "b2")
        your_move(page, 2)
    button(page, "Hint").click()
    says(page, "two moves ahead", ".note")
    visit(page, "/?x=human&o=runs/nosuch&board=4x4")
    says(page, ["“runs/nosuch”", "“4x4”"], ".note")
    seats(page, "human", "minimax-ties=fastest")


@pytest.mark.usefixtures("on_server")
def test_a_piece_falls_in_its_column_wherever_that_is_chosen(open_page, folder, look):
    page = open_page(f"/?x=human&o=human&board={FOUR}")
    your_move(page, 0)
    cell(page, "d2").hover()
    shown = page.locator(".aim .ghost")
    expect(shown).to_have_count(1)
    expect(page.locator(".aim")).to_have_attribute("aria-label", "d6, free, column 4, falls to d6")
    expect(shown).to_have_css("opacity", "0.22" if look == "desk" else "0")  # no finger hovers
    for name in ("d1", "d6"):  # the second one is taken
        cell(page, name).click()
    expect(page.locator("#live")).to_have_text("O plays d5. X to move.")
    for key in "8434444":  # there is no column 8, and the last 4 is one too many
        page.keyboard.press(key)
    your_move(page, 7)
    expect(cell(page, "d6")).to_have_attribute("aria-label", "d6, X, column 4, full")
    page.reload()
    your_move(page, 7)
    button(page, "Resign").click()
    says(page, "Kept as game", ".caption")
    game = kept_game(page, folder)
    assert (game.rules, game.text) == (Rules(6, 7, 4, gravity=True), "d6 d5 d4 c6 d3 d2 d1")
    page.locator(".caption a").click()
    says(page, "Connect Four", ".count")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".falling")).to_have_css("animation-name", "fall")
    expect(page.locator(".tile[data-side=X]")).to_have_count(1)
    page.get_by_role("link", name="play again").click()
    expect(field(page, "Board")).to_have_value(FOUR)


# --- 5. numbers -----------------------------------------------------------------------------------

KINDS = {OWN: "own", CHANCE: "chance", EXPECTED: "expected"}
IN_SHORT = {(0, 7): "draws", (1, 1): "wins now", (1, 3): "wins in 2", (1, 5): "wins in 3"}
IN_SHORT |= {(-1, 2): "loses in 1", (-1, 4): "loses in 2", (-1, 6): "loses in 3"}


def test_the_numbers_on_the_cells_are_those_of_the_server_each_with_its_meaning(
    open_page, chromium
):
    page = open_page("/?x=human&o=runs/weak&moves=4,0")
    for one in page.locator(".view :is(.switch, summary)").all():
        one.click()
    asked = {"board": {"rows": 3, "cols": 3, "k": 3}, "moves": [4, 0], "agent": "runs/weak"}
    for choice, kind in KINDS.items():
        field(page, choice).check()
        page.locator(f".value.{kind}").first.wait_for()
        asked |= {"truth": True, "values": "own" if kind == "chance" else kind}
        found = page.request.post(f"{chromium[1]['desk']}/api/analysis", data=asked).json()
        numbers = found["thoughts"]["probs" if kind == "chance" else "values"]
        for number, text in written(page, ".value").items():
            text = text.replace("\N{MINUS SIGN}", "-").removesuffix("\u00a0%")
            shown = None if text == "?" else float(text) / (100 if kind == "chance" else 1)
            assert shown == pytest.approx(numbers[number], abs=0.0051)
    worths = {cell: worth for cell, worth in enumerate(found["truth"]["moves"]) if worth}
    shorts = {cell: IN_SHORT[one["value"], one["plies"]] for cell, one in worths.items()}
    assert written(page, ".worth") == shorts
    says(page, ["against random moves", "With best play from here, X draws"], ".legend")
    says(page, "as X, against random moves", ".caption")  # whose they are stands at the board
    field(page, OWN).check()
    says(page, "+1.00 a sure win, 0.00 a sure loss", ".caption")
    says(page, ["marked ?", "never met"], ".legend .own")
    expect(cell(page, "b1")).to_have_attribute("aria-label", re.compile(r"worth \+0.40.*in truth"))
    reload(page)
    expect(field(page, "Show what it thinks")).to_be_checked()  # it belongs to the game
    choose(page, "O", "runs/strong")  # makes no estimates
    expect(field(page, "Show the truth")).not_to_be_checked()
    page.get_by_text("Show what it thinks").click()
    says(page, "makes no estimates: how likely", ".caption")


NEW_GAMES = {
    "New game": lambda page: button(page, "New game").click(),
    "other sides": lambda page: button(page, "Swap sides").click(),
    "another player": lambda page: choose(page, "O", "minimax-first"),
    "a link": lambda page: visit(page, "/?x=human&o=random"),
}


@pytest.mark.parametrize("begin", NEW_GAMES)
def test_a_new_game_is_a_clean_board(open_page, begin):
    page = open_page("/?x=human&o=dqn-duel-second&moves=4,1")
    switches = page.get_by_role("switch", name=re.compile("^Show"))
    for switch in switches.all():
        switch.locator("xpath=..").click()
    page.locator(".tile .truth").first.wait_for()
    NEW_GAMES[begin](page)
    expect(page.locator(".tile .truth")).to_have_count(0)
    expect(switches.and_(page.locator(":checked"))).to_have_count(0)


@pytest.mark.usefixtures("on_server")
def test_each_board_has_its_easy_opponent(open_page):
    page = open_page("/")
    for board in ("5x5x4", FOUR, "4x4x4-gravity=true", "4x4x4"):
        field(page, "Board").select_option(board)
        seats(page, "human", easy_opponent(parse_size(board)))


@pytest.mark.parametrize("board", ["5x5x4", "7x7x5"])
@pytest.mark.usefixtures("on_server")
def test_where_nobody_knows_the_truth_its_switch_is_off_and_says_why(open_page, board):
    page = open_page(f"/?x=human&o=random&board={board}")
    expect(field(page, "Show the truth")).to_be_disabled()
    says(page, "too large to solve", ".view")
    button(page, "Hint").click()
    says(page, ["two moves ahead", "too large to solve"], ".note")
    play(page, "c3")
    your_move(page, 2)
    button(page, "Resign").click()
    says(page, "too large to solve", ".note")
    page.locator(".caption a").first.click()  # the replay
    expect(field(page, "Show the truth")).to_be_disabled()
    says(page, "too large to solve", ".view")


# --- 6. two agents --------------------------------------------------------------------------------


def test_two_agents_are_watched_at_the_speed_that_is_set_or_move_by_move(open_page, folder):
    page = open_page("/games")
    speed, marks = page.get_by_label("Time for a move"), page.locator(".stage-board .mark")
    page.clock.install(time="2026-01-01")
    page.clock.pause_at("2026-01-02")  # nobody moves before the game is paused
    visit(page, "/?x=minimax&o=random")
    button(page, "Pause").click()
    for count in (0, 1, 2):
        expect(marks).to_have_count(count)
        button(page, "Step").click()
    page.clock.resume()
    button(page, "Go on").click()
    choose(page, "X", "runs/strong")
    choose(page, "O", "search-depth=2")
    speed.fill("0")
    says(page, "Kept as game", ".caption")
    game = kept_game(page, folder)
    assert (game.x.name, game.o.name, game.ended) == ("runs/strong", "search-depth=2", "full")


# --- 7. replays -----------------------------------------------------------------------------------


def test_a_kept_game_is_found_and_replayed_with_a_verdict_on_every_move(open_page, folder):
    page = open_page("/games")
    games, player = page.locator("a.game"), field(page, "Player")
    player.fill("ann")
    player.press("Enter")
    expect(games).to_have_count(2)
    field(page, "Result").select_option("draw")
    says(page, "No such game", ".count")
    field(page, "Result").select_option("")
    page.locator("a.game[data-path='/games/1']").click()
    expect(page.locator(".cell.blunder .tile[data-side=O]")).to_have_count(1)
    says(page, ["until O played a2", "b1", "b2"], ".point")
    expect(page.locator(".moves .verdict")).to_have_text([re.compile(one) for one in VERDICTS])
    for key, move in (("Home", "beginning"), ("ArrowRight", "Move 1 of 5"), ("End", "X wins")):
        page.keyboard.press(key)
        says(page, move)
    page.locator(".moves button").nth(1).click()
    expect(page.locator("[aria-current=step]")).to_contain_text("a2")
    bar, graph = page.locator(".evaluation"), page.locator(".course")
    worths = ("X wins in 3", "O loses in 2", "X wins at once", "X has won")
    for number, worth in enumerate(worths, start=2):
        page.locator(".moves button").nth(number - 1).click()
        expect(bar).to_have_attribute("aria-label", worth)
    graph.click(position={"x": 2, "y": 9})
    expect(bar).to_have_attribute("aria-label", "A draw with best play")
    says(page, "beginning")
    field(page, "Speed").select_option("500")
    button(page, "Play").click()
    says(page, "Move 5 of 5: c1, X wins")


VERDICTS = ("keeps the draw", "gives away.*decided", "wins in 3", "is lost", "wins at once")


# --- 8. players -----------------------------------------------------------------------------------


def test_a_player_is_looked_up_and_beaten_by_the_game_that_it_loses(open_page, folder):
    page = open_page("/agents")
    for name, sign in (("strong", "✓ unbeatable"), ("weak", "✗ can be beaten")):
        says(page, sign, f"a[data-path='/agents/runs/{name}'] .badge")
    page.locator("a[data-path='/agents/runs/weak']").click()
    says(page, ["as X (a1", "and as O (a1"], ".statement")
    line = list(certify(FIRST_FREE, "dqn").results["O"].losing_line)
    lost = page.get_by_role("region", name="The game that it loses as O")
    expect(lost).to_contain_text(" ".join(line))
    lost.get_by_role("link", name="Beat it yourself").click()
    dashed = page.locator(".cell.guide")
    for turn, name in enumerate(line[::2]):
        your_move(page, 2 * turn)
        expect(dashed).to_have_attribute("aria-label", re.compile(f"^{name}, free"))
        dashed.click()
    says(page, "Kept as game", ".caption")
    assert kept_game(page, folder).text.split() == line
    button(page, "New game").click()
    cell(page, "c3").click()
    says(page, "left the dashed line", ".note")


def test_a_player_of_the_package_shows_its_growth_and_hands_out_its_certificate(
    open_page, tmp_path
):
    page = open_page("/agents/dqn")
    says(page, "no other unbeatable player wins more often", ".statement")
    says(page, "after 114,688", ".growth")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the certificate").click()
    download.value.save_as(tmp_path / "dqn.json")
    assert read(tmp_path / "dqn.json") == certificate_of("dqn")
    verify(read(tmp_path / "dqn.json"))


@pytest.mark.usefixtures("on_server")
def test_a_player_that_nobody_beats_shows_how_it_learned(open_page):
    page = open_page("/agents/runs/strong")
    says(page, "cannot be beaten", ".statement")
    expect(page.locator(".growth figure")).to_contain_text("lost no game")
    visit(page, "/agents/maskable_ppo")
    expect(page.locator(".growth .curve")).to_have_count(2)


# --- 9. addresses ---------------------------------------------------------------------------------


def test_a_game_survives_a_reload_a_look_elsewhere_and_is_passed_on_by_a_link(open_page):
    page = open_page("/?x=human&o=runs/weak")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    play(page, "b2")
    your_move(page, 2)
    reload(page)
    your_move(page, 2)
    page.get_by_role("link", name="Players", exact=True).click()
    expect(page.locator("h1")).to_be_focused()
    page.go_back()
    your_move(page, 2)
    button(page, "Copy a link to this position").click()
    says(page, "Link copied", ".note")
    other = open_page(page.evaluate("navigator.clipboard.readText()"))
    your_move(other, 2)
    seats(other, "human", "runs/weak")


def test_the_address_of_a_game_is_shown_for_phones_and_a_server_draws_its_code(
    open_page, chromium, look
):
    page = open_page("/?x=human&o=minimax", errors=True)  # a site without https is told
    page.get_by_text("On a phone").click()
    says(page, "on this computer only", ".code")
    own, site = page.home, "http://class.example"
    if look == "desk":

        def from_server(route):
            route.fulfill(response=route.fetch(url=route.request.url.replace(site, own)))

        page.route(f"{site}/**", from_server)
    else:
        file = own.removesuffix("#").removeprefix("file://")
        page.route(f"{site}/**", lambda route: route.fulfill(path=file))
        site += "/#"
    visit(page, f"{site}/?x=human&o=dqn-duel-second")
    page.get_by_text("On a phone").click()
    says(page, f"{site}/?x=human&o=dqn-duel-second", ".code")
    code = page.get_by_role("img", name="The address of this game as a code")
    expect(code).to_have_count(1 if look == "desk" else 0)
    if look == "desk":
        assert code.evaluate("image => image.decode().then(() => image.naturalWidth > 0)")


def test_what_is_not_there_is_told_in_words(open_page):
    page = open_page("/nowhere", errors=True)
    for path, words in (("agents/x", "“x”"), ("games/9999", "“9999”"), ("nowhere", "/nowhere")):
        visit(page, f"/{path}")
        says(page, ["Nothing here", words], "main")


@pytest.mark.usefixtures("on_server")
def test_a_server_that_does_not_answer_is_told_in_words_and_can_be_tried_again(open_page):
    page = open_page("/?x=human&o=minimax", errors=True)
    your_move(page, 0)
    for refuse, words in (
        (lambda route: route.fulfill(status=503, json={"error": "it is busy"}), "It is busy"),
        (lambda route: route.abort(), "does not answer"),
    ):
        page.route("**/api/**", refuse)
        button(page, "New game").click()
        cell(page, "b2").click()
        says(page, "cannot go on")
        says(page, words, ".note")
        page.unroute_all()
        button(page, "Try again").click()
        your_move(page, 2)


ENDS = {"dqn-duel-second": "b2 b1 b3", "minimax-first": "b2 c1 a2 b3 c3"}
SCREENS = ((320, 640), (390, 844), (1280, 800), (1920, 1080))
PLACES = """() => [".score", ".grid", ".buttons.main", ".view", ".seats"].map((one) => {
    const { x, y } = document.querySelector(one).getBoundingClientRect();
    return [one, Math.round(x + scrollX), Math.round(y + scrollY)];
})"""


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("opponent", ENDS)
def test_nothing_moves_at_the_end_of_a_game(open_page, opponent, screen):
    nothing_moves(open_page, opponent, "3x3x3", ENDS[opponent], screen)


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.usefixtures("on_server")
def test_nothing_moves_at_the_end_of_a_game_with_gravity(open_page, screen):
    board, cells = "4x4x4-gravity=true", "d1 d1 b1 c1 c1"
    nothing_moves(open_page, "minimax-first", board, cells, screen)


def nothing_moves(open_page, opponent, board, cells, screen):
    """A person plays these cells as X, and all places stay as they are at the end of the game."""
    size = dict(zip(("width", "height"), screen, strict=True))
    page = open_page(f"/?x=human&o={opponent}&board={board}", viewport=size)
    your_move(page, 0)
    before = page.evaluate(PLACES)
    play(page, cells)
    says(page, "Kept as game", ".caption")
    page.locator(".note strong").wait_for()
    assert page.evaluate(PLACES) == before
    assert page.evaluate("document.documentElement.scrollWidth") <= screen[0]


# --- 10. learning ---------------------------------------------------------------------------------

LEARNED = """async ([folder, seed, games]) => {
    const { QLearner } = await import(folder + "q_learner.js");
    const { UNFINISHED } = await import(folder + "positions.js");
    const learner = new QLearner(seed);
    while (learner.games < games) learner.play();
    return UNFINISHED.map((position) => learner.move(position));
}"""


@pytest.mark.parametrize("seed", range(3))
def test_the_page_counts_what_a_q_learner_loses_as_python_does_until_nobody_can_beat_it(
    open_page, look, seed
):
    page = open_page(f"/learn?seed={seed}")
    field(page, "Speed").select_option("15")
    note = page.locator(".note")

    def check():
        """What the page says holds for the table that this learner has after these games."""
        games = int(re.search(r"after ([\d,]+) games", note.text_content())[1].replace(",", ""))
        folder = "/static/" if look == "desk" else ""
        cells = page.evaluate(LEARNED, [folder, seed, games])
        exact = evaluate(TabularPolicy(SQUARE, one_hot(np.array(cells), 9)))
        for side, result in (("X", exact.x), ("O", exact.o)):
            lost = 100 * result.loss
            text = page.locator(f".curves .{side.lower()}").text_content()
            assert text == f"{lost:.2f}".removesuffix(".00") + f"\N{NO-BREAK SPACE}% as {side}"
            shown = page.get_by_role("region", name=f"As {side}").locator("p, .linkish")
            line = exact.best_responses[side].losing_line
            moves = [cell_text(cell, SQUARE) for cell in line or ()]
            told = " ".join(moves) or "Every game was followed."
            assert shown.filter(visible=True).all_text_contents()[0] == told
        return exact

    expect(note).to_have_text(re.compile(r"after (\d{3}|\d,\d{3}) games"))
    button(page, "Pause").click()
    assert not check().unbeatable
    button(page, "Go on").click()
    says(page, "Nobody can beat it")
    assert check().unbeatable


def test_the_game_that_beats_a_learner_is_shown_and_the_board_can_be_explored(open_page):
    page = open_page("/learn", reduced_motion="reduce")  # so that it waits
    game = page.get_by_role("button", name="Show the game that it loses as O")
    names = game.text_content().split()
    game.click()
    says(page, "X wins", ".caption")
    assert len(names) == page.locator(".stage-board .tile:is([data-side=X], [data-side=O])").count()
    button(page, "Empty board").click()
    cell(page, "b2").click()
    says(page, "as O", ".caption")
    expect(cell(page, "a1")).to_have_attribute("aria-label", "a1, free, thought to be worth 0.00")
    button(page, "Another seed").click()
    page.wait_for_url("**seed=1")


@pytest.mark.parametrize("look", ["desk"])
def test_a_server_trains_a_network_while_one_watches(open_page):
    page = open_page("/learn", reduced_motion="reduce")
    field(page, "Speed").select_option("960")
    field(page, "Learner").select_option("maskable_ppo")
    expect(page.locator(".note")).to_have_text(re.compile(r"The network after \d+,\d+ moves"))
    button(page, "Pause").click()
    cell(page, "b2").click()
    says(page, "How likely it makes each move as O", ".caption")
    assert len(written(page, ".value.chance")) == 8

    def after(steps):
        def changed(route):
            answer = route.fetch()
            route.fulfill(response=answer, json={**answer.json(), "steps": steps})

        page.route("**/api/training", changed)

    after(401_408)  # moves; the server trains no further
    field(page, "Speed").select_option("15")
    button(page, "Go on").click()
    says(page, "Its training ends here, after 401,408 moves", ".note")
    expect(button(page, "Again")).to_be_visible()
    after(0)  # it has begun anew, since nobody asked for a while
    cell(page, "a1").click()
    says(page, "no longer has this training", ".note")


# --- 11. every page -------------------------------------------------------------------------------

PAGES = ("?x=human&o=runs/weak&moves=4,0", "?x=human&o=search-depth=2&board=7x7x5")
PAGES += (f"?x=human&o=search-depth=2&board={FOUR}",)
PAGES += ("?x=human&o=minimax&board=4x4x4-gravity=true&moves=12,13",)
PAGES += ("?x=random&o=random", "games", "games/1", "agents", "agents/runs/strong")
PAGES += ("agents/runs/weak", "agents/dqn-duel-second", "learn", "nowhere")
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
SPILLS = """() => [...document.querySelectorAll(".tile .truth, .tile .value")]
    .filter((one) => one.checkVisibility())
    .map((one) => [one.getBoundingClientRect(), one.closest(".tile").getBoundingClientRect()])
    .filter(([one, tile]) => one.left < tile.left + 1 || one.right > tile.right - 1).length"""


@pytest.mark.parametrize("path", PAGES)
def test_everybody_can_read_a_page_and_find_their_way_on_it(open_page, look, path):
    page = open_page(f"/{path}", errors=path == "nowhere", reduced_motion="reduce")
    if "random" in path:
        button(page, "Pause").click()
    numbers = field(page, CHANCE if "strong" in path else EXPECTED if "weak" in path else OWN)
    for shown in (page.locator(".view .switch:has(:enabled), summary"), numbers):
        for one in shown.filter(visible=True).all():
            one.click()
    if "moves" in path or "games/1" in path or "weak" in path:
        page.locator(".tile .truth:visible").first.wait_for()
        page.locator(".tile .value:visible").first.wait_for()
    found = Axe().run(page, options={"runOnly": RULES}).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []
    assert page.evaluate("document.getAnimations().length") == page.evaluate(SPILLS) == 0
    width, height = LOOKS[look]["viewport"].values()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if path.startswith("?") or path == "games/1":  # the game is seen without scrolling
        page.evaluate("scrollTo(0, 0)")
        for part in (".grid", ".buttons.main, .transport"):
            box = page.locator(part).bounding_box()
            assert box["y"] + box["height"] <= height


@pytest.fixture
def site():
    """The address of the site that `make docs` has built."""
    if not SITE.exists():
        pytest.skip("there is no site: make docs")
    serve = partial(SimpleHTTPRequestHandler, directory=SITE)
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_site_can_be_heard_its_pages_are_short_and_its_board_has_its_colours(
    chromium, site, theme
):
    browser, _ = chromium
    context = browser.new_context(**DESK)
    context.add_init_script(f"localStorage.theme = {theme!r}")
    page = context.new_page()
    for name in ("environment", "certificates", "training", "alphazero", "index"):
        page.goto(f"{site}/{name}.html")
        assert Axe().run(page, options={"iframes": False}).response["violations"] == [], name
        screens = page.evaluate("document.documentElement.scrollHeight") / 800
        assert screens < 5.5, f"{name} is too long: about five screens"  # fonts differ
    html = page.frame_locator("iframe.board >> nth=0").locator("html")
    expect(html).to_have_attribute("data-colours", theme)
    context.close()
