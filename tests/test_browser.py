"""The page in a real Chromium: `make browser`. Skipped where none is installed."""

import json
import re
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks.web import serving
from tictactoe_env.certificate import certify, write
from tictactoe_env.games import Game, Player
from tictactoe_env.notation import cell_text
from tictactoe_env.own_values import OwnValues, checked, write_values
from tictactoe_env.policy import MinimaxPolicy, TabularPolicy, one_hot
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from tictactoe_env.store import GameStore
from training.metrics import write_metrics

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect
expect.set_options(timeout=30_000)  # milliseconds; a busy machine is slow
pytestmark = pytest.mark.browser

SQUARE, MINIMAX = Rules(), Player("agent", "minimax")
THROWN = Game(x=Player("human", "human"), o=MINIMAX, moves=(0, 3, 1, 4, 2), origin="web")  # by a2
ANN, BEA, WIDE_MOVES = Player("human", "Ann"), Player("human", "Bea"), (0, 1, 6, 7, 12, 13, 18)
DQN = Player("agent", "dqn-duel-first")
WIDE = Game(x=ANN, moves=WIDE_MOVES, rules=Rules(5, 5, 4), origin="human")
OWN, CHANCE, EXPECTED = "Its own estimate", "How likely it plays there", "Against random moves"
DESKTOP, PHONE = {"width": 1280, "height": 860}, {"width": 360, "height": 740}
FINGER = {"viewport": PHONE, "has_touch": True, "is_mobile": True}


def first_free(rules):
    """A player that marks the first free cell: it can be beaten, always in the same way."""
    boards = positions_of(rules).boards[positions_of(rules).unfinished]
    return TabularPolicy(rules, one_hot((boards == 0).argmax(axis=1), rules.cells))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """runs/strong cannot be beaten, runs/weak and runs/valued (with own values) can.

    Beside these there are a broken certificate, and two games.
    """
    folder = tmp_path_factory.mktemp("browser")
    for name, policy in (("strong", MinimaxPolicy(SQUARE)), ("weak", first_free(SQUARE))):
        (folder / "runs" / name).mkdir(parents=True)
        certificate = certify(policy, "dqn", seed=3, config={"steps": 1000})
        write(certificate, folder / "runs" / name / "certificate.json")
    rates = {"x_draw": 0.1, "x_loss": 0.0, "x_illegal": 0.0, "o_win": 0.5, "o_draw": 0.5}
    rates |= {"o_loss": 0.0, "o_illegal": 0.0, "optimal_x": 0, "optimal_o": 0, "unbeatable_o": 1}
    rows = [
        {"steps": steps, "seconds": 1.0, "x_win": win, "unbeatable_x": int(steps > 0), **rates}
        for steps, win in ((0, 0.6), (2000, 0.8), (4000, 0.9))
    ]
    write_metrics(folder / "runs" / "strong" / "metrics.csv", rows)
    valued = OwnValues(np.full((4520, 9), 0.4), "success: win 1, draw 0.5, loss 0", 0.0, 1.0)
    valued.values[:, 2], known = np.nan, np.zeros(4520, dtype=bool)
    certificate = certify(first_free(SQUARE), "trie")
    write(certificate, folder / "runs" / "valued" / "certificate.json")
    own = checked(valued._replace(known=known), SQUARE)
    write_values(own, certificate["sha256_of_moves"], folder / "runs" / "valued" / "values.npz")
    (folder / "models").mkdir()
    (folder / "models" / "broken.json").write_text("{")
    with GameStore(folder / "games.db") as store:
        store.add_many([THROWN, WIDE])
    return folder


@pytest.fixture(scope="module")
def chromium():
    programs = [*map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))]
    if not any(programs):
        pytest.skip("no chromium here: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        program = next(filter(None, programs))
        yield playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])


@pytest.fixture(scope="module")
def address(folder):
    with serving(folder) as (_, address):
        yield address


@pytest.fixture
def open_page(chromium, address, request):
    """open_page(path, **settings of the context). No page may report an error, unless `errors`."""
    reports = []

    def report(message):
        if getattr(message, "type", "error") in ("error", "warning"):
            reports.append(str(getattr(message, "text", message)))

    def open_page(path, errors=False, **settings):
        context = chromium.new_context(base_url=address, **{"viewport": DESKTOP, **settings})
        request.addfinalizer(context.close)
        page = context.new_page()
        for event in () if errors else ("console", "pageerror"):
            page.on(event, report)
        page.goto(path)
        page.locator("main h1").wait_for(state="attached")
        expect(page.locator(".waiting")).to_have_count(0)
        return page

    yield open_page
    assert reports == []


def cell(page, name):
    return page.get_by_role("gridcell", name=re.compile(f"^{name},"))


def label(page, name, text):
    expect(cell(page, name)).to_have_attribute("aria-label", f"{name}, {text}")


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def field(page, name):
    return page.get_by_label(name, exact=True)


def radio(page, name):
    return page.get_by_role("radio", name=name, exact=True)


def says(page, text, where=".status"):
    """`where` holds exactly this text."""
    expect(page.locator(where)).to_have_text(text)


def contains(page, where, text):
    expect(page.locator(where)).to_contain_text(text)


def switch_on(page, number=OWN):
    """Show the truth and, of an agent, what it expects itself or its results against random."""
    for chosen in radio(page, number).all():
        chosen.check()
    for switch in page.locator(".truth-switch:visible").all():
        switch.click()


def your_move(page, cells=None):
    """Wait until, if given, this number of cells is marked, and a person may move."""
    if cells is not None:
        marked = ".stage-board .tile:is([data-side=X], [data-side=O])"
        expect(page.locator(marked)).to_have_count(cells)
    expect(page.locator(".grid.open")).to_be_visible()
    says(page, "Your move")


def kept_game(page, folder):
    """The game that the page says it has kept."""
    link = page.locator(".note a")
    link.wait_for()
    with GameStore(folder / "games.db", read_only=True) as store:
        return store.get(int(link.get_attribute("href").rsplit("/", 1)[1]))


def marks(page):
    """The board that is shown, +1, -1, 0."""
    sides = "tiles => tiles.map(tile => tile.dataset.side)"
    shown = page.locator(".stage-board .tile").evaluate_all(sides)
    return [{"X": 1, "O": -1}.get(side, 0) for side in shown]


def written(page, kind):
    """What stands on the free cells, by the cell's number."""
    texts = page.locator(".stage-board .tile").evaluate_all(
        f"tiles => tiles.map(tile => tile.querySelector('.{kind}')?.textContent ?? null)"
    )
    return {number: text for number, text in enumerate(texts) if text is not None}


def test_a_whole_game_against_perfect_play_by_mouse_takes_one_request_a_ply(open_page, folder):
    page = open_page("/?x=human&o=minimax")
    switch_on(page)
    page.locator(".tile .truth").first.wait_for()
    asked = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    while page.locator(".note a").count() == 0:
        page.locator(".grid.open, .note a").first.wait_for()
        free = page.locator(".grid.open .cell[aria-disabled=false]")
        if free.count():
            assert written(page, "truth")  # it came with the move
            free.first.click()
    game = kept_game(page, folder)
    plies = [("analysis", "move")[ply % 2] for ply in range(len(game.moves))]
    assert [path for path in asked if path in ("analysis", "move")] == plies
    assert (str(game.x), str(game.o), game.origin) == ("human:human", "agent:minimax", "web")
    assert (game.side, game.result) in (("X", "draw"), ("X", "O"))
    says(page, "A draw" if game.result == "draw" else "Perfect play wins")
    assert marks(page) == game.boards[-1].tolist()


def test_a_whole_game_by_keyboard_alone_is_announced(open_page, folder):
    page = open_page("/?x=human&o=runs%2Fweak")
    live = page.locator("#live[role=status][aria-live=polite]")
    focus = page.locator(":focus")

    def press(*keys):
        for key in keys:
            page.keyboard.press(key)

    expect(live).to_have_text("Your move.")
    press("Tab")
    expect(focus).to_have_text("Skip to the content")
    press("Enter", "Tab")
    expect(focus).to_have_attribute("aria-label", "b2, free")  # the one cell that Tab reaches
    assert page.locator(".cell[tabindex='0']").count() == 1
    expect(focus.locator(".tile")).to_have_css("outline-style", "solid")
    press("Enter")
    label(page, "a1", "O, last move")
    expect(live).to_have_text("O plays a1. Your move.")
    press("ArrowRight", "ArrowRight", "ArrowUp")  # it stays on the board
    expect(focus).to_have_attribute("aria-label", "c1, free")
    press("Space")
    label(page, "b1", "O, last move")
    press("7")
    says(page, "You win")
    expect(live).to_contain_text("Kept as game")
    game = kept_game(page, folder)
    assert (game.text, game.result, str(game.o)[:14]) == ("b2 a1 c1 b1 a3", "X", "run:runs/weak:")
    button(page, "New game").focus()
    press("Enter")
    expect(focus).to_have_role("gridcell")


def test_a_taken_cell_is_not_played_and_a_number_needs_the_board(open_page):
    page = open_page("/?x=human&o=human")
    expect(page.locator(".grid.open")).to_be_visible()
    page.keyboard.press("5")  # nothing has the focus
    says(page, "O to move")
    label(page, "b2", "X, last move")
    expect(cell(page, "b2")).to_have_attribute("aria-disabled", "true")
    expect(page.locator(".grid.open")).to_be_visible()
    cell(page, "b2").click(force=True)
    cell(page, "a1").click()
    says(page, "X to move")
    assert np.count_nonzero(marks(page)) == 2
    page.locator(".truth-switch input").focus()
    page.keyboard.press("2")
    label(page, "b1", "free")


def test_a_person_plays_o_if_asked_to_and_a_finger_plays(open_page):
    page = open_page("/?x=runs%2Fweak&o=human", **FINGER)
    label(page, "a1", "X, last move")
    your_move(page)
    button(page, "Swap sides").tap()
    for side, player in (("X", "human"), ("O", "runs/weak")):
        expect(field(page, f"{side} is played by")).to_have_value(player)
    cell(page, "a1").tap()
    label(page, "b1", "O, last move")


def test_moves_are_taken_back_with_the_answer_and_a_game_is_resigned(open_page, folder):
    page = open_page("/?x=human&o=minimax")
    undo = button(page, "Undo")
    expect(undo).to_be_disabled()
    for count, name in enumerate(("b2", "c2"), 1):
        cell(page, name).click()
        your_move(page, 2 * count)
    undo.click()
    label(page, "c2", "free")
    undo.click()
    expect(undo).to_be_disabled()
    your_move(page, 0)
    cell(page, "b2").click()
    your_move(page)
    button(page, "Resign").click()
    says(page, "Perfect play wins: you resigned")
    game = kept_game(page, folder)
    assert (game.ended, game.result, len(game.moves)) == ("resigned", "O", 2)
    contains(page, ".note", "You resigned a drawn game.")


def test_two_agents_play_at_the_speed_that_is_set_or_move_by_move(open_page, folder):
    page = open_page("/?x=minimax&o=random")
    speed = page.get_by_label("Time for a move")
    speed.fill("3000")
    for name in ("Pause", "New game", "Pause"):
        button(page, name).click()
    assert marks(page) == [0] * 9
    for count in (1, 2, 3):
        button(page, "Step").click()
        expect(page.locator(".stage-board .mark")).to_have_count(count)
    button(page, "Go on").click()
    field(page, "X is played by").select_option("runs/strong")
    field(page, "O is played by").select_option("search-depth=2")
    speed.fill("0")
    says(page, "A draw")
    game = kept_game(page, folder)
    assert (game.x.name, game.o.name) == ("runs/strong", "search-depth=2")
    assert (game.result, game.ended, game.side) == ("draw", "full", None)
    page.locator(".truth-switch").click()
    page.reload()
    expect(speed).to_have_value("0")  # both are remembered
    expect(page.locator(".truth-switch input")).to_be_checked()
    expect(radio(page, "None")).to_be_checked()


def test_larger_boards_are_played_by_those_who_can(open_page):
    page = open_page("/?x=human&o=runs%2Fstrong")
    switch_on(page, CHANCE)
    board, o = field(page, "Board"), field(page, "O is played by")
    board.select_option("5x5x4")
    expect(o).to_have_value("search-depth=4")
    contains(page, ".note", "Deep Q-network, seed 3 (strong) does not play on this board.")
    option = page.locator("#seat-o option[value='runs/strong']")
    expect(option).to_have_text(
        "Deep Q-network, seed 3 (strong) \N{EN DASH} on 3\u00a0\u00d7\u00a03"
    )
    o.select_option("runs/strong")  # brings its board with it
    expect(board).to_have_value("3x3x3")
    contains(page, ".note", "plays on 3\u00a0\u00d7\u00a03, 3\u00a0in\u00a0a\u00a0row")
    agents = {"3x4x3": "minimax", "7x7x5": "mcts-playouts=50", "5x5x4": "random"}
    for size, agent in agents.items():
        board.select_option(size)
        o.select_option(agent)
        expect(page.get_by_role("gridcell")).to_have_count(int(size[0]) * int(size[2]))
        cell(page, "b2").click()
        your_move(page, 2)
    shares = [int(text.rstrip(" %")) for text in written(page, "value").values()]
    assert 90 <= sum(shares) <= 110  # how likely it plays there, rounded: it has no values
    contains(page, ".legend", "This board is too large to work out the truth.")


def test_when_the_server_is_gone_the_page_says_so(open_page):
    page = open_page("/?x=human&o=minimax", errors=True)
    your_move(page)
    page.route("**/api/**", lambda route: route.abort())
    cell(page, "b2").click()
    says(page, "The game cannot go on")
    contains(page, ".note", "The program behind this page does not answer. Is it still running?")
    page.unroute_all()
    button(page, "Try again").click()
    your_move(page, 2)


PROBLEMS = {
    400: ("runs/weak is broken: values.npz is damaged", "A file of this player is damaged."),
    500: ("the server failed; its log says more", "Something went wrong in the program behind"),
    503: ("32 requests are waiting already", "The computer has too much to work out"),
}


@pytest.mark.parametrize("status", PROBLEMS)
def test_a_refusal_is_told_in_words_for_people(open_page, status):
    reason, words = PROBLEMS[status]
    page = open_page("/?x=human&o=minimax", errors=True)
    your_move(page)
    refusal = {"status": status, "json": {"error": reason}}
    page.route("**/api/move", lambda route: route.fulfill(**refusal))
    cell(page, "b2").click()
    says(page, "The game cannot go on")
    contains(page, ".note", words)
    assert reason not in page.locator("main").text_content()


def test_when_the_truth_cannot_be_had_the_game_goes_on_and_the_legend_says_why(open_page):
    def refuse(route):
        if "truth" not in route.request.post_data_json:
            return route.fallback()
        return route.fulfill(status=503, json={"error": "too many requests"})

    page = open_page("/?x=human&o=minimax", errors=True)
    switch_on(page)
    page.route(re.compile("/api/(move|analysis)"), refuse)
    for cells, name in ((2, "b2"), (4, "c2")):
        cell(page, name).click()
        your_move(page, cells)
        contains(page, ".legend", "The computer has too much to work out at the moment.")
        assert (written(page, "truth"), page.locator(".note").text_content().strip()) == ({}, "")
    page.unroute_all()
    button(page, "Undo").click()
    page.locator(".tile .truth").first.wait_for()


WINNERS_MOVES = {1: "wins now", 3: "wins in 2", 5: "wins in 3", 7: "wins in 4"}
WINNERS_MOVES |= {2: "loses in 1", 4: "loses in 2", 6: "loses in 3", 8: "loses in 4"}


def in_short(worth):
    """What a cell says of a move: how many moves the winner needs, this one included."""
    return WINNERS_MOVES[worth["plies"]] if worth["value"] else "draws"


def test_each_kind_of_number_is_right_and_has_its_own_look_and_meaning(open_page):
    page = open_page("/?x=human&o=runs%2Fweak")
    switch_on(page, EXPECTED)
    cell(page, "b2").click()
    your_move(page)
    content = {"board": {"rows": 3, "cols": 3, "k": 3}, "moves": [4, 0], "truth": True}
    asked = page.request.post("/api/analysis", data={**content, "agent": "runs/weak"})
    thoughts, truth = asked.json()["thoughts"], asked.json()["truth"]
    values = {cell: value for cell, value in enumerate(thoughts["values"]) if value is not None}
    texts = written(page, "value.expected")
    found = {cell: float(texts[cell].replace("\N{MINUS SIGN}", "-")) for cell in texts}
    assert found == pytest.approx(values, abs=0.0051)
    expect(cell(page, "b1")).to_have_attribute("aria-label", re.compile("against random moves"))
    contains(page, ".legend .expected", "if it goes on against random moves")
    worths = {cell: in_short(worth) for cell, worth in enumerate(truth["moves"]) if worth}
    assert written(page, "worth") == worths
    assert page.locator(".tile.wins").count() == sum(
        text.startswith("w") for text in worths.values()
    )
    contains(page, ".legend", "With best play from here, X draws. This is exact.")
    radio(page, CHANCE).check()
    likely = page.locator(".value.chance")
    expect(likely).to_have_count(len(worths))
    assert sorted(likely.all_text_contents())[-1] == "100\u00a0%"
    assert page.locator(".value.expected, .value.own").count() == 0
    expect(radio(page, OWN)).to_be_disabled()  # it has no values of its own, and no others for them
    radio(page, "None").check()
    expect(page.locator(".value")).to_have_count(0)


def test_the_truth_counts_the_moves_of_the_winner_and_says_so(open_page):
    page = open_page("/?x=human&o=human&moves=0,3")  # X wins in 5 plies: with its third move
    page.locator(".truth-switch").click()
    contains(page, ".legend", "With best play from here, X wins in 3 moves. This is exact.")
    contains(page, ".legend", "The numbers count the moves of the winner")
    content = {"board": {"rows": 3, "cols": 3, "k": 3}, "moves": [0, 3], "truth": True}
    truth = page.request.post("/api/analysis", data=content).json()["truth"]
    worths = {cell: in_short(worth) for cell, worth in enumerate(truth["moves"]) if worth}
    assert written(page, "worth") == worths
    assert {"draws", "wins in 3"} <= set(worths.values())
    label(page, "b1", "free, in truth wins in 3 moves")
    button(page, "Hint").click()
    contains(page, ".note", re.compile("Play .*: it wins in 3 moves."))


def test_an_agent_without_estimates_says_so_and_shows_nothing_in_their_place(open_page):
    page = open_page("/?x=human&o=runs%2Fweak")
    radio(page, OWN).check()
    contains(page, ".legend", "Deep Q-network, seed 3 (weak) makes no estimates: it only chooses.")
    assert written(page, "value") == {}


def test_own_values_stand_on_the_board_as_they_are(open_page):
    page = open_page("/?x=human&o=runs%2Fvalued")
    switch_on(page)
    cell(page, "b2").click()
    your_move(page)
    contains(page, ".legend .own", "0 is a sure loss, 1 a sure win. It may be wrong")
    contains(page, ".legend", "Success: win 1, draw 0.5, loss 0. Its values can go a little beyond")
    contains(page, ".legend", "It does not know the values marked ?.")
    contains(page, ".legend", "It has never met this position.")
    texts = written(page, "value.own")
    assert (texts[1], texts[2]) == ("+0.40", "?")
    assert "of unknown worth" in cell(page, "c1").get_attribute("aria-label")
    assert "thought to be worth +0.40" in cell(page, "b1").get_attribute("aria-label")
    places = "all => all.map(one => +one.style.getPropertyValue('--at'))"
    assert page.locator(".tile .gauge.own").evaluate_all(places) == pytest.approx([0.4] * 6)
    radio(page, EXPECTED).check()
    contains(page, ".legend", "against random moves")
    assert "?" not in written(page, "value").values()
    page.reload()
    expect(radio(page, EXPECTED)).to_be_checked()


def test_the_values_of_a_search_to_the_end_are_called_exact(open_page):
    page = open_page("/?x=human&o=minimax")
    radio(page, OWN).check()
    contains(
        page,
        ".legend .own",
        "\N{MINUS SIGN}1 is a sure loss, +1 a sure win. It has worked out every game.",
    )
    contains(page, ".legend details", "Exact result with best play of both sides")
    expect(page.locator(".legend")).not_to_contain_text("beyond these bounds")


def test_an_old_game_is_replayed_at_its_address_with_the_verdict_on_every_move(open_page):
    def shows(ply):
        assert marks(page) == THROWN.boards[ply].tolist()
        current = page.locator("[aria-current=step] strong").all_text_contents()
        assert current == [cell_text(cell, SQUARE) for cell in THROWN.moves[:ply][-1:]]

    page = open_page("/games/1")
    shows(2)  # where it was decided
    expect(page.locator(".cell.blunder .tile[data-side=O]")).to_have_count(1)
    thrown = "The game was a draw until O played a2: that let X force a win with b1. "
    says(page, thrown + "With b2, O would have kept the draw.", ".point")
    page.keyboard.press("Home")
    texts = [
        "keeps the draw",
        "gives away the draw: now X can win in 3 movesThis decided the game.",
        "keeps the win: X can win in 2 moves",
        "was lost already, and loses sooner",
        "wins at once",
    ]
    says(page, texts, ".moves .verdict")
    assert "?" not in page.locator(".moves").inner_text()
    says(page, "a2", ".moves .decisive strong")
    for ply in range(1, 6):
        button(page, "Forward").click()
        shows(ply)
    says(page, "Move 5 of 5: c1, X wins")
    assert page.locator(".strike path").count() == 1
    for key, ply in (("ArrowLeft", 4), ("Home", 0), ("End", 5)):
        page.keyboard.press(key)
        shows(ply)
    button(page, "Back").click()
    shows(4)
    page.locator(".moves button").nth(1).click()
    shows(2)
    field(page, "Speed").select_option("500")
    button(page, "Play").click()
    says(page, "Move 5 of 5: c1, X wins")
    expect(button(page, "Play")).to_be_visible()


def test_the_list_of_games_is_chosen_from_and_leads_to_each_and_back(open_page, folder):
    with GameStore(folder / "games.db") as store:
        store.add_many([Game(x=BEA, moves=THROWN.moves, origin="web")] * 45)
        store.add_many([Game(x=MINIMAX, o=DQN, moves=THROWN.moves, origin="battle")] * 3)
    page = open_page("/games?player=Bea")
    older, games = button(page, "Older games"), page.locator("a.game")
    player, result, who = (field(page, name) for name in ("Player", "Result", "Games"))
    says(page, "45 games", ".count")
    for shown in (20, 40):
        expect(games).to_have_count(shown)
        older.click()
    expect(games).to_have_count(45)
    expect(older).to_be_hidden()
    player.fill("ann")
    player.press("Enter")
    expect(games).to_have_count(1)
    result.select_option("draw")
    says(page, "No such game of a person.", ".count")
    assert page.url.endswith("/games?player=ann&result=draw")
    page.reload()
    expect(player).to_have_value("ann")
    result.select_option("")
    page.locator("a.game[href='/games/2']").click()
    says(page, "Game 2", "h1")
    assert page.url.endswith("/games/2")
    button(page, "To the end").click()
    assert marks(page) == WIDE.boards[-1].tolist()
    contains(page, ".point", "too large to say what each move was worth")
    page.go_back()
    says(page, "Games", "h1")
    page.get_by_role("link", name="Games", exact=True).click()
    expect(page.locator("h1")).to_be_focused()
    assert page.title() == "Games · tic-tac-toe"
    expect(who).to_have_value("people")  # those of agents do not bury the others
    player.fill("(DUEL-")
    player.press("Enter")
    contains(page, ".count", "No such game of a person.")
    button(page, "Show all 3 games").click()
    expect(games).to_have_count(3)
    expect(games.first).to_contain_text("Perfect play")
    player.fill("a person")
    player.press("Enter")
    expect(games.filter(has_text="a person").first).to_be_visible()
    assert all("a person" in text for text in games.all_text_contents())


def test_the_page_of_an_agent_shows_what_is_proven(open_page):
    page = open_page("/agents")
    contains(page, "a.broken", "models/broken.json")
    for name, text in (("strong", "✓ unbeatable"), ("weak", "✗ can be beaten")):
        contains(page, f"a[href='/agents/runs/{name}'] .badge", text)
    page.locator("a.broken").click()
    contains(page, ".error", "not JSON")
    contains(open_page("/agents/x", errors=True), "main", "There is no player “x” here.")
    contains(open_page("/games/9999", errors=True), "main", "There is no game “9999” here.")
    page = open_page("/agents/runs/strong")
    says(page, "Deep Q-network, seed 3 (strong)", "h1")
    contains(page, ".statement", "nobody can beat it.")
    rates = certify(MinimaxPolicy(SQUARE), "dqn")["as_x"]["vs_random"]
    cells = page.locator("tbody tr").first.locator("td").all_text_contents()
    assert cells[:2] == [f"{100 * rates[name]:.2f}" for name in ("win", "draw")]
    expect(page.locator("tbody tr").nth(1).locator("td").nth(1)).to_have_text("100")
    expect(page.locator("tbody tr")).to_have_count(4)
    assert page.locator(".losing").count() == 0
    expect(page.locator(".primary")).to_have_text("You play ")
    expect(page.locator(".agent-head .badge")).to_have_count(0)  # the box below says it
    assert page.locator(".primary .mark").evaluate(COLOUR, "stroke") == page.locator(
        ".primary"
    ).evaluate(COLOUR, "color")
    contains(page, ".worst", "draws against the strongest opponent.")


COLOUR = "(element, name) => getComputedStyle(element)[name]"


def luminance(colour):
    """Of "rgb(1, 2, 3)", as WCAG defines it."""
    parts = np.array([int(part) for part in re.findall(r"\d+", colour)[:3]]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_how_often_a_player_with_random_moves_loses_is_said_exactly(open_page):
    page = open_page("/agents/minimax-slip=0.1")
    part = page.request.get("/api/agents/minimax-slip=0.1").json()["certificate"]["as_o"]
    share = f"loses {100 * part['worst_case_loss']:.2f}\u00a0% of its games (wins minus losses: "
    contains(page, ".worst li >> nth=1", share)
    contains(page, ".worst li >> nth=1", "against an opponent that knows its weakness.")
    page = open_page("/agents/dqn-duel-second")
    contains(page, ".worst", "Perfect play does not know this weakness, so it wins less often.")


def test_a_player_that_wins_too_often_to_be_safe_is_told_apart_from_the_limit(open_page):
    page = open_page("/agents/dqn-duel-second")
    contains(page, "main", "of any player that never loses: 91.64\u00a0% as O, 99.48\u00a0% as X.")
    wins = "As O it wins more often than any player that never loses can (91.64\u00a0%), and yet"
    contains(page, ".worst", wins)
    contains(page, ".worst", "As X (not trained for this side) it loses every game against")
    page = open_page("/agents/runs/strong")
    expect(page.locator(".worst")).not_to_contain_text("and yet")


def test_numbers_in_the_place_of_a_person_say_whose_they_are(open_page):
    page = open_page("/?x=human&o=dqn-duel-second")
    radio(page, OWN).check()
    whose = "If Deep Q-network (duel-second) were X, for which it was not trained:"
    contains(page, ".legend strong", whose)
    bounds = "\N{MINUS SIGN}1 is a sure loss, about +1 a sure win. It may be wrong; the truth shows"
    contains(page, ".legend .own", bounds)
    page = open_page("/?x=dqn-duel-second&o=human")
    radio(page, OWN).check()
    your_move(page, 1)
    contains(page, ".legend strong", "If Deep Q-network (duel-second) were O:")
    page = open_page("/?x=human&o=mcts-playouts%3D50&board=7x7x5")
    radio(page, OWN).check()
    contains(page, ".legend .own", "It may be wrong.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_wins_draws_and_losses_have_colours_that_are_seen_and_named(open_page, scheme):
    page = open_page("/agents/runs/strong", color_scheme=scheme)
    card = luminance(page.locator(".scroll").evaluate(COLOUR, "backgroundColor"))
    fill = "element => getComputedStyle(element, '::before').backgroundColor"
    keys = {}
    for name in ("win", "draw", "loss"):
        keys[name] = page.locator(f".keys-of-bars .{name}").evaluate(fill)
        low, high = sorted([card, luminance(keys[name])])
        assert (high + 0.05) / (low + 0.05) >= 3
        assert page.locator(f".growth .key.{name}").evaluate(fill) == keys[name]
        area = page.locator(f".charts path.{name}").first
        assert area.evaluate(COLOUR, "fill") == keys[name]
    assert len(set(keys.values())) == 3
    draws = page.locator("tbody tr").nth(1).locator(".stack > *")  # against perfect play
    expect(draws).to_have_count(1)
    assert draws.evaluate(COLOUR, "backgroundColor") == keys["draw"]


def test_the_game_that_an_agent_loses_is_shown_and_can_be_played(open_page, folder):
    page = open_page("/agents/runs/weak")
    contains(page, ".statement", "it can be beaten as X and as O.")
    expect(page.locator(".losing:visible")).to_have_count(1)
    expect(page.locator(".worst")).not_to_contain_text("Perfect play")  # it wins always, too
    expect(page.locator(".primary:visible")).to_have_text("Beat it yourself")
    contains(page, ".worst", "loses every game against an opponent that knows its weakness.")
    button(page, "Show the game that it loses as O").click()
    losing = page.locator(".losing:visible")
    expect(button(page, "Show the game that it loses as X")).to_be_focused()
    line = certify(first_free(SQUARE), "dqn")["as_o"]["losing_line"]
    expect(losing.locator(".losing-head")).to_contain_text(" ".join(line))
    expect(losing.locator(".moves .decisive")).to_have_count(1)
    expect(losing.locator(".cell.blunder")).to_have_count(1)  # it opens there
    button(losing, "To the end").click()
    contains(losing, ".status", "X wins")
    losing.get_by_role("link", name="Beat it yourself").click()
    dashed = page.locator(".cell.guide")
    for name in line[::2]:
        expect(dashed).to_have_attribute("aria-label", re.compile(f"^{name}, free, the move that"))
        contains(page, ".note", "Dashed: the move that beats this player")
        dashed.click()
    says(page, "You win")
    game = kept_game(page, folder)
    assert (game.text.split(), game.result) == (line, "X")
    button(page, "New game").click()
    expect(dashed).to_have_count(1)
    page.locator(".grid.open .cell[aria-disabled=false]:not(.guide)").last.click()
    contains(page, ".note", "You left the dashed line: take your move back, or play on.")
    expect(dashed).to_have_count(0)
    button(page, "Undo").click()
    expect(dashed).to_have_count(1)


def test_a_player_that_moves_at_random_leaves_the_losing_line_itself_which_is_said(open_page):
    page = open_page("/agents/random")
    contains(page, ".losing:visible .losing-head", "It moves at random: this may take several")
    page = open_page("/agents/runs/weak")
    expect(page.locator(".losing-head").first).not_to_contain_text("at random")
    page.goto("/?x=human&o=minimax-first&line=4,5,0")  # it answers b2 with a1
    your_move(page, 0)
    cell(page, "b2").click()
    your_move(page, 2)
    contains(page, ".note", "It played another move this time: this is not the game that it loses.")


SIZES = {
    "phone": (390, 844),
    "sideways": (844, 390),
    "laptop": (1280, 800),
    "projector": (1920, 1080),
}
SCREENS = {
    **SIZES,
    "narrow": (360, 740),
    "at 150 %": (853, 533),
    "at 200 %": (640, 400),
    "turned at 200 %": (400, 640),
}
SPILLS = """() => [...document.querySelectorAll(".tile .truth, .tile .value")]
    .filter((one) => one.checkVisibility())
    .map((one) => [one.textContent, one.getBoundingClientRect(),
        one.closest(".tile").getBoundingClientRect()])
    .filter(([, one, tile]) => one.left < tile.left + 1 || one.right > tile.right - 1)
    .map(([text]) => text)"""
SCROLLING = """() => [...document.querySelectorAll("main *")]
    .filter((one) => one.checkVisibility() && one.scrollHeight > one.clientHeight + 1)
    .filter((one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowY))
    .map((one) => one.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("size", SCREENS)
def test_what_a_move_is_worth_fits_on_its_cell(open_page, size):
    width, height = SCREENS[size]
    settings = {"viewport": {"width": width, "height": height}}
    for view in ("?x=human&o=human&moves=4,0,1,6", "?x=human&o=human&board=3x4x3&moves=0,1,4,5"):
        page = open_page(f"/{view}", **settings)
        page.locator(".truth-switch").click()
        page.locator(".tile .truth").first.wait_for()
        contains(page, ".grid", "wins now")
        assert page.evaluate(SPILLS) == []
    page = open_page("/agents/dqn-duel-second", **settings)
    page.locator(".moves .decisive").wait_for()
    switch_on(page)
    contains(page, ".tile .truth >> nth=0", "loses in 1")
    page.locator(".tile .value").first.wait_for()
    assert page.evaluate(SPILLS) == []


@pytest.mark.parametrize("size", ["laptop", "projector"])
def test_a_replay_with_numbers_has_no_scroll_bars_of_its_own(open_page, size):
    width, height = SIZES[size]
    for view in READ:
        page = open_page(f"/{view}", viewport={"width": width, "height": height})
        page.locator(".moves:visible .decisive").wait_for()
        switch_on(page)
        contains(page, ".legend:visible", "This is exact.")
        assert page.evaluate(SCROLLING) == []


@pytest.mark.parametrize("size", ["laptop", "projector"])
def test_a_long_name_is_whole_and_pictures_have_words(open_page, size):
    width, height = SIZES[size]
    page = open_page("/?x=human&o=dqn-duel-second", viewport={"width": width, "height": height})
    says(page, "Deep Q-network (duel-second)", ".score .o .name")
    widths = "one => [one.scrollWidth, one.clientWidth]"
    shown = page.locator(".score .o .name").evaluate(widths)
    assert shown[0] == shown[1]
    expect(page.locator(".word:visible")).to_have_text(["Colours", "Link", "Swap"])
    for name in ("Swap sides", "Copy a link to this position"):
        expect(button(page, name)).to_have_attribute("title", name)


VIEWS = ("?x=human&o=minimax", "?x=human&o=minimax&board=3x4x3", "games/1", "?x=random&o=random")


@pytest.mark.parametrize("size", SIZES)
def test_the_board_is_centred_and_every_control_is_seen_without_scrolling(open_page, size):
    width, height = SIZES[size]
    for view in VIEWS:
        page = open_page(f"/{view}", viewport={"width": width, "height": height})
        page.locator(".grid").wait_for()
        grid, controls = page.locator(".grid"), page.locator(".buttons.main, .transport")
        controls.get_by_role("button").first.wait_for()
        board, below = grid.bounding_box(), controls.bounding_box()
        middles = [
            box["x"] + box["width"] / 2
            for box in (board, below, page.locator(".status").bounding_box())
        ]
        if size != "sideways":  # there all else stands beside the board
            assert max(middles) - min(middles) < 2
        for box in (board, below):
            assert box["y"] + box["height"] <= height
            assert 0 <= box["x"] <= box["x"] + box["width"] <= width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if size == "projector":
            assert board["height"] > 0.5 * height
        if size != "phone" and (size != "sideways" or page.locator(".seats").count()):
            box = page.locator(".truth-switch").bounding_box()
            assert box["y"] + box["height"] <= height


@pytest.mark.parametrize("size", ["laptop", "projector"])
def test_a_finished_game_is_seen_with_what_decided_it_without_scrolling(open_page, size):
    width, height = SIZES[size]
    page = open_page("/?x=human&o=minimax-first", viewport={"width": width, "height": height})
    while not page.locator(".note a").count():
        your_move(page)
        page.locator(".grid.open .cell[aria-disabled=false]").last.click()
        expect(page.locator(".grid.open, .note a").first).to_be_visible()
    contains(page, ".note", "would have kept the draw")
    assert page.evaluate("document.documentElement.scrollHeight") <= height


READ = ("games/1", "agents/runs/weak", "agents/dqn-duel-second", "agents/tictacnet-tictac")


@pytest.mark.parametrize("size", ["laptop", "projector"])
def test_a_replay_is_seen_with_its_board_its_buttons_and_its_moves_without_scrolling(
    open_page, size
):
    width, height = SIZES[size]
    for view in READ:
        page = open_page(f"/{view}", viewport={"width": width, "height": height})
        page.locator(".point:visible", has_text=re.compile(r"\w")).first.wait_for()
        for part in (".grid", ".transport", ".point", ".moves", ".truth-switch"):
            box = page.locator(f"{part}:visible").first.bounding_box()
            assert 0 <= box["y"] <= box["y"] + box["height"] <= height, (view, part)
        chosen = page.locator("[aria-current=step]:visible").bounding_box()
        moves = page.locator(".moves:visible").bounding_box()
        assert moves["y"] <= chosen["y"] + 2  # the move that is shown is in sight in the list
        assert chosen["y"] + chosen["height"] <= moves["y"] + moves["height"] + 2
        if view == "games/1":
            assert page.evaluate("document.documentElement.scrollHeight") <= height


def test_the_legend_shows_no_numbers_that_could_be_taken_for_values(open_page):
    page = open_page("/?x=human&o=minimax")
    your_move(page, 0)
    assert not re.search(r"\d", page.locator(".view").inner_text())
    expect(page.locator(".choice .gauge")).to_have_count(3)


def test_a_first_visit_is_against_an_easy_opponent_with_perfect_play_a_click_away(open_page):
    page = open_page("/")
    your_move(page, 0)
    opponent = field(page, "O is played by")
    expect(opponent).to_have_value("minimax-slip=0.3")
    contains(page, "#seat-o-about", "makes 30 % of its moves at random")
    groups = opponent.locator("optgroup").evaluate_all("all => all.map(one => one.label)")
    assert groups == [
        "Easy to beat",
        "Strong, without training",
        "Perfect play",
        "Trained, proven unbeatable",
        "Trained, can be beaten",
        "Your training runs",
    ]
    page.goto("/agents")
    says(page, groups, "h2")
    page.goto("/")
    button(page, "Try perfect play").click()
    expect(opponent).to_have_value("minimax")
    page.goto("/games")
    page.goto("/")
    expect(opponent).to_have_value("minimax")  # the last choice is kept
    opponent.select_option("minimax-slip=0.3")
    field(page, "Board").select_option("5x5x4")
    expect(opponent).to_have_value("search-depth=1")  # also easy


def test_a_player_that_was_trained_as_one_side_says_so_and_takes_that_side(open_page):
    page = open_page("/agents/trie-tophep")
    contains(page, ".statement", "can be beaten as O")
    contains(page, ".said", "It was trained as O only: if you play O, it makes untrained moves.")
    ways = page.locator(".said a.button")
    assert ways.first.get_attribute("href").startswith("/?x=human&o=trie-tophep")
    says(page, "Beat it yourself", "main a.primary")  # the one thing that the page leads to
    ways.last.click()  # against its advice
    untrained = "It was trained as O only: as X it makes untrained moves"
    contains(page, "#seat-x-about .untrained", untrained)
    contains(page, ".note", "Game memory (tophep) was trained as O only: as X it makes untrained")
    page.goto("/agents/dqn-duel-first")
    assert page.locator(".said a.primary").get_attribute("href").startswith("/?o=human&x=dqn")
    page.goto("/?x=human&o=minimax")
    field(page, "O is played by").select_option("dqn-duel-first")
    expect(field(page, "X is played by")).to_have_value("dqn-duel-first")
    contains(page, ".note", "Deep Q-network (duel-first) was trained as X only, so you play O.")
    expect(page.locator(".untrained")).to_have_count(0)
    button(page, "Swap sides").click()
    contains(page, "#seat-o-about .untrained", "as O it makes untrained moves")


LEARNED = {
    "maskable_ppo": "against itself, and against perfect play that makes 65\u00a0% of its moves at "
    "random. After 65,536 moves it was proven",
    "trie": "against itself, against random moves, and against perfect play. After 6,000 games",
    "tabular_q-tictac": "which took less than a second. It practised against random moves. After",
    "neuroevolution": "against random moves, and against players that beat it.",
    "neuroevolution-dimitars-20": "800 generations, which took 17 seconds. The networks played",
    "tictacnet-tictac": "13,000,031 moves, which took 3 minutes. It practised against random",
    "dqn-duel-second": "It practised against random moves. It always played O.",
    "mcts": "It trained for 4,000 trial games, which took less than a second.",
}


@pytest.mark.parametrize("id", LEARNED)
def test_how_a_player_learned_is_told_in_sentences(open_page, id):
    contains(open_page(f"/agents/{id}"), "main", LEARNED[id])


def test_buttons_stay_where_they_are_when_notes_appear(open_page):
    page = open_page("/?x=human&o=runs%2Fweak", viewport={"width": 1280, "height": 800})
    your_move(page, 0)
    places = {button(page, "Undo").bounding_box()["y"]}
    for name in ("b2", "c1", "a3"):
        button(page, "Hint").click()
        expect(page.locator(".note")).to_contain_text(re.compile("draw|wins"))
        places.add(button(page, "Undo").bounding_box()["y"])
        cell(page, name).click()
        page.locator(".grid.open, .note a").first.wait_for()
    contains(page, ".note", "Kept as game")
    thrown = "The game was a draw until O played b1: that let you win with a3."
    contains(page, ".note strong.gain", thrown)
    places.add(button(page, "Undo").bounding_box()["y"])
    assert len(places) == 1


def test_what_decided_a_game_is_said_to_the_person_who_played_it_and_marked(open_page):
    """X a1, O b2, X a2, O a3, X b1: O wins with c1, the other diagonal."""
    page = open_page("/?x=human&o=minimax-first")
    for name in ("a1", "a2", "b1"):
        page.locator(".grid.open").wait_for()
        cell(page, name).click()
    says(page, "Perfect play, always the same wins")
    told = "The game was a draw until you played b1: that let O win with c1. With c1, you would"
    contains(page, ".note strong.wrong", told)
    expect(cell(page, "b1")).to_have_attribute("aria-label", re.compile("decided the game"))
    expect(page.locator(".cell.blunder")).to_have_count(1)
    says(page, ["0 wins", "1 win"], ".score .points")
    button(page, "Swap sides").click()
    says(page, ["1 win", "0 wins"], ".score .points")  # points stay with the player
    expect(page.locator(".cell.blunder")).to_have_count(0)


def test_a_move_that_beats_a_player_is_not_taken_for_the_best_one(open_page):
    """X a1, O c3: c1 and a3 win by force, b1 loses against perfect play."""
    page = open_page("/?x=human&o=human&moves=0,8&line=0,8,1")
    contains(page, ".note", "Dashed: the move that beats this player; against perfect play it")
    contains(page, ".note", "it would lose.")
    button(page, "Hint").click()
    expect(page.locator(".cell.hint")).to_have_count(2)
    expect(page.locator(".cell.guide")).to_have_count(1)
    label(page, "b1", "free, the move that beats this player")
    label(page, "c1", "free, suggested")


@pytest.mark.parametrize(
    ("moves", "ply", "told"),
    [((0, 4, 4), 2, "b2, O, .*chosen by X.* decided"), ((4, 1, 0, 1), 1, "b1, O, .*decided.*by O")],
)
def test_a_move_onto_a_taken_cell_is_drawn_beside_the_mark_there(
    open_page, folder, moves, ply, told
):
    """X b2, O b1, X a1, O b1: the first b1 decided the game, not the second."""
    with GameStore(folder / "games.db") as store:
        number = store.add(Game(x=ANN, o=BEA, moves=moves, ended="illegal", origin="web"))
    page = open_page(f"/games/{number}")
    contains(page, ".point", f"(move {ply + 1})")
    button(page, "To the end").click()
    marks = page.locator(".cell.blunder .mark")
    expect(marks).to_have_count(2)
    one, other = (marks.nth(number).bounding_box() for number in range(2))
    assert other["x"] - one["x"] > 0.8 * one["width"]  # the box is wider than the round ends
    expect(page.locator(".grid")).to_have_attribute("aria-label", re.compile(told))
    button(page, "Back").click()
    expect(page.locator(".taken")).to_have_count(0)


def test_a_hint_marks_the_best_moves_and_says_what_they_are_worth(open_page):
    page = open_page("/?x=human&o=human&moves=0,4,3,6")  # O threatens c1
    your_turn = page.locator(".grid.open")
    your_turn.wait_for()
    button(page, "Hint").click()
    contains(page, ".note", "Play c1 to keep the draw.")
    expect(cell(page, "c1")).to_have_class(re.compile("hint"))
    cell(page, "c1").click()
    expect(page.locator(".cell.hint")).to_have_count(0)
    page = open_page("/?x=human&o=human&board=5x5x4&moves=0,6,1,8,2")
    page.locator(".grid.open").wait_for()
    button(page, "Hint").click()
    contains(page, ".note", "Looking two moves ahead, d1 seems best.")


def test_a_faint_mark_is_under_the_mouse_on_free_cells_only(open_page):
    page = open_page("/?x=human&o=human")
    page.locator(".grid.open").wait_for()
    cell(page, "b2").hover()
    expect(cell(page, "b2").locator(".ghost .mark.x")).to_have_count(1)
    cell(page, "b2").click()
    says(page, "O to move")
    cell(page, "a1").hover()
    expect(page.locator(".ghost")).to_have_count(1)
    expect(cell(page, "a1").locator(".ghost .mark.o")).to_have_count(1)
    cell(page, "b2").hover(force=True)
    expect(page.locator(".ghost")).to_have_count(0)


def test_a_reload_and_a_look_at_other_pages_do_not_end_the_game(open_page):
    page = open_page("/?x=human&o=runs%2Fweak")
    your_move(page, 0)
    cell(page, "b2").click()
    your_move(page, 2)
    page.reload()
    your_move(page, 2)
    page.get_by_role("link", name="Players", exact=True).click()
    says(page, "Players", "h1")
    page.get_by_role("link", name="Play", exact=True).click()
    your_move(page, 2)
    button(page, "Undo").click()
    your_move(page, 0)
    button(page, "New game").click()
    page.goto("/")  # a new game is against the same player too
    expect(field(page, "O is played by")).to_have_value("runs/weak")


@pytest.mark.parametrize("change", ["opponent", "board", "swap", "new", "link"])
def test_a_game_that_is_left_for_another_can_be_gone_back_to(open_page, change):
    page = open_page("/?x=human&o=runs%2Fweak")
    your_move(page, 0)
    cell(page, "b2").click()
    your_move(page, 2)
    if change == "opponent":
        field(page, "O is played by").select_option("minimax")
    elif change == "board":
        field(page, "Board").select_option("4x4x4")
    elif change == "link":
        page.goto("/?x=human&o=minimax")
    else:
        button(page, {"swap": "Swap sides", "new": "New game"}[change]).click()
    back = button(page, "Back to the game you left")
    back.wait_for()
    assert np.count_nonzero(marks(page)) <= 1
    back.click()
    your_move(page, 2)
    label(page, "a1", "O, last move")
    expect(field(page, "O is played by")).to_have_value("runs/weak")
    expect(back).to_have_count(0)


def test_a_link_opens_the_position_with_the_same_players(open_page):
    page = open_page("/?x=human&o=runs%2Fweak")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    your_move(page, 0)
    cell(page, "b2").click()
    your_move(page, 2)
    button(page, "Copy a link to this position").click()
    contains(page, ".note", "Link copied. It opens on this computer only.")
    link = page.evaluate("navigator.clipboard.readText()")
    other = open_page(link)
    your_move(other, 2)
    expect(field(other, "O is played by")).to_have_value("runs/weak")
    expect(button(other, "Undo")).to_be_disabled()


def test_colours_are_chosen_once_and_stay(open_page):
    page = open_page("/", color_scheme="light")
    back = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(back)
    button(page, "Colours: as the system").click()
    assert page.evaluate(back) == light
    button(page, "Colours: light").click()
    dark = page.evaluate(back)
    assert dark != light
    page.reload()
    button(page, "Colours: dark").wait_for()
    assert page.evaluate(back) == dark
    button(page, "Colours: dark").click()
    assert page.evaluate(back) == light


def test_a_page_that_takes_long_says_what_it_does_and_can_be_left(open_page):
    page = open_page("/agents")
    page.route("**/api/agents/runs/strong", lambda route: None)  # it is never answered
    page.locator("a[href='/agents/runs/strong']").click()
    says(page, "Deep Q-network, seed 3 (strong)", ".waiting h1")
    assert page.evaluate("scrollY") == 0  # though the link was far below
    contains(page, ".waiting", "Working out every game that can be played against it")
    contains(page, ".waiting", "1 s")
    expect(page.get_by_role("navigation").locator("[aria-current=page]")).to_have_text("Players")
    button(page, "Cancel").click()
    says(page, "Players", "h1")
    assert page.url.endswith("/agents")


def test_a_link_above_the_list_of_players_leads_to_a_group(open_page):
    page = open_page("/agents")
    links, headings = page.locator(".jumps a"), page.locator("h2")
    assert links.all_text_contents() == headings.all_text_contents()
    page.get_by_role("link", name="Trained, can be beaten", exact=True).press("Enter")
    heading = page.get_by_role("heading", name="Trained, can be beaten")
    expect(heading).to_be_focused()
    expect(heading).to_be_in_viewport()
    assert page.evaluate("scrollY") > 0
    says(page, "Players", "h1")
    says(page, "Medium opponent", "a[href='/agents/minimax-slip%3D0.1'] strong")
    expect(page.locator("a[href='/agents/minimax'] .id")).to_have_count(0)
    says(page, "runs/weak", "a[href='/agents/runs/weak'] .id")  # its folder


def test_the_links_of_the_pages_stay_in_place_and_are_large_enough_for_a_finger(open_page):
    page = open_page("/games", **FINGER)
    links = page.get_by_role("navigation").get_by_role("link")
    boxes = [link.bounding_box() for link in links.all()]
    assert all(box["height"] >= 44 for box in boxes)
    fields = page.locator(".filters select, .filters input").all()
    assert len({round(field.bounding_box()["height"], 1) for field in fields}) == 1
    links.nth(2).click()
    says(page, "Players", "h1")
    assert [link.bounding_box() for link in links.all()] == boxes
    jumps = page.locator(".jumps a")
    assert all(jump.bounding_box()["height"] >= 44 for jump in jumps.all())


def test_an_agent_that_thinks_long_says_so_and_can_be_stopped(open_page):
    page = open_page("/?x=human&o=minimax")
    your_move(page, 0)
    page.route("**/api/move", lambda route: None)
    cell(page, "b2").click()
    contains(page, ".status", "Perfect play is thinking … 1 s")
    button(page, "Stop").click()
    says(page, "Stopped: Perfect play has not moved")
    page.unroute_all()
    button(page, "Let it think again").click()
    your_move(page, 2)


def test_an_address_of_nobody_or_of_no_board_leads_to_a_game_all_the_same(open_page):
    page = open_page("/?x=human&o=runs%2Fnosuch&board=4x4")
    your_move(page, 0)
    contains(page, ".note", "There is no player “runs/nosuch” here: perfect play takes its place.")
    contains(page, ".note", "4x4x3 or 4x4x4")
    expect(page.get_by_role("gridcell")).to_have_count(9)
    expect(button(page, "Resign")).to_be_disabled()
    for size, cells in (("2x3x2", 6), ("3x3", 9)):
        page = open_page(f"/?x=human&o=human&board={size}")
        expect(page.get_by_role("gridcell")).to_have_count(cells)
        expect(page.locator(".note")).not_to_contain_text("There is no board")


def test_the_page_of_a_run_shows_how_it_grew_and_gives_its_certificate(open_page):
    page = open_page("/agents/runs/strong")
    charts = page.locator(".growth .plot svg")
    expect(charts).to_have_count(2)
    name = charts.first.get_attribute("aria-label")
    assert (
        name == "As X: 60\u00a0% wins at first, 90\u00a0% in the end; "
        "unbeatable for the first time after 2,000 moves"
    )
    contains(page, "figcaption >> nth=0", "after 2,000 moves (the dashed line)")
    expect(page.locator(".few").first).to_have_text("No losses against random moves at any check.")
    contains(page, "main", "How it learnedA neural network estimates the result of every move.")
    with page.expect_download() as loading:
        page.get_by_role("link", name="Download the certificate").click()
    content = json.loads(Path(loading.value.path()).read_text())
    assert loading.value.suggested_filename == "runs-strong.json"
    assert content["moves"]
    contains(page, "main", "python -m tictactoe_env.verify runs-strong.json")
    page = open_page("/agents/trie")
    contains(page, "main", "Its training was not recorded in the package.")
    page = open_page("/agents/runs/weak")  # it has no record of its training
    expect(page.locator(".growth")).to_have_count(0)


PAGES = ("?x=human&o=runs%2Fweak", "?x=human&o=search-depth%3D2&board=7x7x5", "?x=random&o=random")
PAGES += ("games", "games/1", "agents", "agents/runs/strong", "agents/runs/weak", "nowhere")
CHECKS = Path(__file__).with_name("page_checks.js").read_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_everybody_can_read_a_page_and_find_their_way_on_it(open_page, path, scheme):
    device = FINGER if scheme == "dark" else {}
    settings = {"color_scheme": scheme, "reduced_motion": "reduce", **device}
    page = open_page(f"/{path}", errors=path == "nowhere", **settings)
    switch_on(page, EXPECTED if "weak" in path or "games/1" in path else OWN)
    if "human" in path:
        cell(page, "b2").click()
        your_move(page)
        page.locator(".tile .value").first.wait_for()
    if path in ("games/1", "agents/runs/weak"):
        page.locator(".verdict", has_text="keeps").first.wait_for()
        button(page, "To the beginning").click()
        button(page, "Forward").click(click_count=2)
        page.locator(".tile .truth").first.wait_for()
    if "random" in path:
        button(page, "Pause").click()
    if path == "nowhere":
        contains(page, "main", "Nothing hereThere is no page at /nowhere.")
    for summary in page.locator("summary").all():
        summary.click()
    found = page.evaluate(CHECKS)
    assert len(found["contrasts"]) > 5
    assert [(text, ratio) for text, ratio, needed in found["contrasts"] if ratio < needed] == []
    assert (found["animations"], found["nameless"], found["small"]) == (0, [], [])
    assert len(found["ids"]) == len(set(found["ids"]))
    assert found["width"] <= page.viewport_size["width"]
    assert [page.get_by_role(role).count() for role in ("main", "navigation", "banner")] == [1] * 3
    levels = [int(tag[1]) for tag in found["headings"]]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_a_player_learns_from_games_and_says_so(chromium, tmp_path):
    """runs/learner moves at random in its first game, and is given a line that it loses."""
    (tmp_path / "runs").mkdir()
    with serving(tmp_path) as (_, address):
        page = chromium.new_page(base_url=address)
        page.goto("/?x=human&o=runs/learner")
        contains(page, "#seat-o-about", "It remembers your games and learns from them")
        switch = page.get_by_role("switch", name="Your apprentice learns from this game")
        expect(switch).to_be_checked()
        while page.locator(".note a").count() == 0:  # whatever the result is
            expect(page.locator(".grid.open, .note a").first).to_be_visible()
            free = page.get_by_role("gridcell", name=re.compile(", free$"))
            if page.locator(".grid.open").count():
                free.first.click()
            page.wait_for_timeout(400)
        contains(page, ".note", "Your apprentice has learned from 1 game since its training")
        contains(page, "#seat-o-about", "It has learned from 1 game since its training.")
        page.get_by_label("O is played by").select_option("minimax")
        expect(switch).to_be_checked()  # it learns from every game of a person now
        page.get_by_label("X is played by").select_option("runs/learner")
        expect(switch).to_be_checked()  # a game that is only watched has a setting of its own
        page.locator("label").filter(has=switch).click()
        page.get_by_label("X is played by").select_option("human")
        expect(switch).to_be_checked()
        page.close()
