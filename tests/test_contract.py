"""The contract of the environments: a referee in plain Python replays every game beside them.

A seed picks the board, the arguments and the calls of a game, so that any of them may meet. The
referee shares nothing with the package: see `oracles/plain_game.py`. `make fuzz` plays more games.
"""

import copy
import math
import pickle
from functools import partial
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from oracles.plain_game import Board, PlainGame, plain
from text_cases import refuses

from tictactoe_env import ExploringStarts, Rules, TicTacToeEnv, TicTacToeVectorEnv
from tictactoe_env.notation import board_text, cell_text
from tictactoe_env.rules import IllegalMoveError

SIZES = [(3, 3, 3), (2, 3, 2), (1, 5, 3), (5, 1, 2), (2, 5, 2), (1, 11, 2), (11, 1, 3), (2, 6, 2)]
SIZES += [(3, 4, 3), (2, 7, 4), (1, 13, 3), (4, 4, 3), (4, 5, 4), (5, 6, 4), (6, 6, 4), (6, 7, 4)]
SIZES += [(7, 8, 5), (2, 20, 4)]
MODES = ("SAME_STEP", "NEXT_STEP", "DISABLED")
SEATS = {"X": (1,), "O": (-1,), "random": (1, -1), "alternate": (1, -1)}
INFOS = ("action_mask", "side", "outcome", "illegal_move")
WRONG = [-1, 64, 2**70, np.uint64(2**63), 0.5, 4.0, math.nan, True, np.array(True), None]
WRONG += ["a1", b"4", [0], {}, 4j, np.timedelta64(4, "s"), np.datetime64(4, "s")]


class State(NamedTuple):
    """A game: the learner's mark, and how the game has ended for the learner, if it has.

    players: the choices of those who may be the opponent; none if the caller moves for both sides.
    """

    board: Board
    seat: int
    players: tuple[Any, ...] = ()
    over: bool = False
    outcome: int = 0
    illegal: int = 0


# --- opponents and starts, which can be pickled ---------------------------------------------------


class Mixed:
    """One or two moves on each board, some of them illegal from the fourth mark on."""

    def __init__(self, rules, number):
        self.rules = rules
        self.weights = np.random.default_rng(number).integers(1 << 20, size=(rules.cells,) * 2) / 1

    def probs(self, boards):
        scores = (boards + 2) @ self.weights % 1009
        legal = self.rules.legal_cells(boards)
        is_any = (scores[:, 0] % 8 == 0) & ((boards != 0).sum(axis=1) > 3)
        one = np.where(legal, scores, -1).argmax(axis=1)
        two = np.where(legal | is_any[:, None], scores, 1009).argmin(axis=1)
        return (np.eye(self.rules.cells)[one] + np.eye(self.rules.cells)[two]) / 2

    def choice(self, board):
        return dict(enumerate(self.probs(np.array([board]))[0].tolist()))


def played(rules, early_draw, random):
    """A board after some random moves, often none, and their cells. They do not end the game."""
    board = plain(rules).empty
    cells = []
    for _ in range(random.choice((0, 1, 2, 3, rules.cells))):
        cell = random.choice(plain(rules).legal(board))
        after = plain(rules).after(board, cell)
        if plain(rules).outcome(after, early_draw) is not None:
            break
        board = after
        cells.append(cell)
    return board, cells


def start(rules, early_draw, seats, rng):
    """Boards on which the learner is to move; empty ones keep their seats."""
    numbers = rng.integers(1000, size=len(seats)).tolist()
    boards = [played(rules, early_draw, Random(number))[0] for number in numbers]
    movers = [PlainGame.mover(board) if any(board) else 0 for board in boards]
    return np.array(boards), np.where(movers, movers, seats)


# --- environments ---------------------------------------------------------------------------------


class Alone:
    """A single environment as a vector environment of one game, which its caller resets."""

    num_envs = 1

    def __init__(self, made, count, limit):
        self.env = self.unwrapped = TicTacToeEnv(**made)

    @property
    def boards(self):
        return self.env.board[None]

    def action_masks(self):
        return self.env.action_masks()[None]

    def set_opponent(self, opponent):
        self.env.set_opponent(opponent)

    def reset(self, seed=None, options=None):
        given = {name: value for name, value in (options or {}).items() if name != "reset_mask"}
        seen, info = self.env.reset(seed=seed, options=given)
        return seen[None], self.infos(info)

    def infos(self, info):
        rows = {name: np.asarray(value)[None] for name, value in info.items()}
        return rows | {f"_{name}": np.ones(1, bool) for name in rows}

    def step(self, actions):
        (action,) = actions
        *results, info = self.env.step(action)
        return *(np.asarray(one)[None] for one in results), self.infos(info)


def many(mode, made, count, limit):
    """A vector environment of this mode."""
    return TicTacToeVectorEnv(count, **made, autoreset_mode=mode, max_episode_steps=limit)


MAKERS = {"both": Alone, "one": Alone} | {mode: partial(many, mode) for mode in MODES}


class Referee:
    """Knows the rules of an environment, whose arguments, `made`, are picked at random.

    rules: the board, which is picked too by default.
    """

    def __init__(self, random, has_opponent, rules=None):
        self.random = random
        picked = Rules(*random.choice(SIZES), gravity=random.random() < 0.6)
        self.rules = rules = rules or picked
        self.game = plain(rules)
        self.early_draw = random.random() < 0.3
        self.by_column = rules.gravity and random.random() < 0.7
        self.made = made = {
            **rules.to_json(),
            "early_draw": self.early_draw,
            "actions": "columns" if self.by_column else "cells",
            "illegal": random.choice(("lose", "lose", "raise")),
            "observation": random.choice(("flat", "planes", "grid")),
            "rewards": {"win": 2.0, "draw": 0.5, "loss": -3.0, "illegal": -7.0},
            "symmetric": random.random() < 0.5,
            "opponent": None,
        }
        starts = ["empty", "empty", partial(start, rules, self.early_draw)]
        if rules.cells <= 10:
            starts += ["random"]
        if rules.cells <= 10 or rules.cells > 12:  # else all positions would be listed
            starts += [ExploringStarts(0.8, rules, self.early_draw)]
        made["start"] = random.choice(starts)
        self.first = self.game.empty
        cells = []
        if made["start"] == "empty":
            self.first, cells = played(rules, self.early_draw, random)
        made["opening"] = " ".join(cell_text(cell, rules) for cell in cells)
        whole = (tuple(range(rules.cells)),)
        self.orders = self.game.orders if made["symmetric"] else whole
        self.players = ()
        if has_opponent:
            made["opponent"], self.players = self.opponents()
            made["side"] = random.choice([*SEATS])

    def opponents(self):
        """An opponent or a pool of two, and the choices of these players."""
        mixed = [Mixed(self.rules, number) for number in range(3)]
        known = [("random", self.game.uniform), *((player, player.choice) for player in mixed)]
        if self.rules.cells < 10:
            known += [("minimax", self.game.perfect), ("minimax-slip=0.3", self.game.uniform)]
        one, two = self.random.sample(known, 2)
        pool = ([[one[0], 1], [two[0], 3]], (one[1], two[1]))
        return self.random.choice([(one[0], (one[1],)), pool])

    # --- moves ------------------------------------------------------------------------------------

    def moved(self, state, cell):
        """A game after a move of the side to move."""
        mover = PlainGame.mover(state.board)
        seat = state.seat
        if cell not in self.game.legal(state.board):
            return state._replace(over=True, outcome=-1 if mover == seat else 1, illegal=1)
        board = self.game.after(state.board, cell)
        outcome = self.game.outcome(board, self.early_draw)
        return state._replace(board=board, over=outcome is not None, outcome=seat * (outcome or 0))

    def replied(self, state):
        """All ways in which a game can go on until it is the learner's turn."""
        if state.over or not state.players or PlainGame.mover(state.board) == state.seat:
            return [state]
        return [
            self.moved(state._replace(players=(player,)), cell)
            for player in state.players
            for cell, chance in player(state.board).items()
            if chance
        ]

    def stepped(self, state, action):
        """All ways in which a game can go on after an action of the learner."""
        ways = [self.moved(state, cell) for cell in self.cells(state.board, action)]
        if not state.players:
            return [way._replace(seat=-state.seat) for way in ways]
        return [after for way in ways for after in self.replied(way)]

    def may_end(self, board, side, players):
        """Whether an opponent may end the game before the learner's first move."""
        states = [State(board, seat, players) for seat in SEATS[side]]
        return any(way.over for state in states for way in self.replied(state))

    def is_reached(self, board):
        """Whether moves lead to an unfinished board: with gravity no mark is above a free cell."""
        below = zip(board, board[self.rules.cols :], strict=False)
        is_floating = self.rules.gravity and any(upper and not lower for upper, lower in below)
        return self.game.outcome(board, self.early_draw) is None and not is_floating

    # --- views ------------------------------------------------------------------------------------

    def image(self, board):
        """The board that the learner sees."""
        return self.game.first_image(board) if self.made["symmetric"] else board

    def cells(self, board, action):
        """The cells of a board that an action can mean: of a full column its top cell."""
        image = self.image(board)
        cell = action
        if self.by_column:
            column = range(action, self.rules.cells, self.rules.cols)
            cell = max((cell for cell in column if not image[cell]), default=action)
        return {order[cell] for order in self.orders if tuple(board[at] for at in order) == image}

    def names(self, state, action):
        """The names that the refusal of an action may begin with."""
        names = [cell_text(cell, self.rules) for cell in self.cells(state.board, action)]
        return [f"column {name[0]}" for name in names] if self.by_column else names

    def mask(self, state):
        """1 for each legal action; all ones after the end."""
        legal = self.game.legal(self.image(state.board))
        count = self.rules.cells
        if self.by_column:
            legal = {cell % self.rules.cols for cell in legal}
            count = self.rules.cols
        return [int(state.over or action in legal) for action in range(count)]

    def told(self, state):
        """The observation and the infos of a game, as `told_of` gives them."""
        seen = np.array(self.image(state.board)) * state.seat
        size = (self.rules.rows, self.rules.cols)
        shapes = {"flat": (-1,), "planes": (2, *size), "grid": size}
        kind = self.made["observation"]
        seen = seen if kind == "grid" else np.stack([seen == 1, seen == -1])
        infos = (self.mask(state), state.seat, state.outcome, state.illegal)
        return [seen.reshape(shapes[kind]).tolist(), *infos]

    def reward(self, state):
        """The reward of the step that has led to a state."""
        names = {1: "win", 0: "draw", -1: "illegal" if state.illegal else "loss"}
        return self.made["rewards"][names[state.outcome]] if state.over else 0.0


# --- games ----------------------------------------------------------------------------------------


class Games:
    """The games of an environment, whose caller steps, resets and copies it at will."""

    def __init__(self, seed, form, maker=None, rules=None):
        self.random = random = Random(f"{form} {seed}")
        self.referee = Referee(random, form != "both", rules)
        self.mode = form if form in MODES else "DISABLED"
        self.count = random.choice((1, 2, 2, 5)) if form in MODES else 1
        self.limit = random.choice((None, None, 4)) if form in MODES or maker else None
        self.new = partial(maker or MAKERS[form], self.referee.made, self.count, self.limit)
        self.opponent = self.referee.made["opponent"]
        self.players = self.referee.players
        self.has_extra = False  # whether a game may have the opponent of a reset option
        self.states, self.over, self.moves, self.begun = ([0] * self.count for _ in range(4))
        if self.may_end({}, self.players):
            with refuses("first move"):
                self.new()
            return
        self.env = self.new()
        self.reset(seed, {}, np.ones(self.count, bool))
        calls = [self.step] * 15 + [self.reset_some] * 2 + [self.copy, self.wrong]
        for _ in range(45):
            random.choice(calls + [self.change] * (form != "both"))()

    def may_end(self, given, players):
        """Whether an opponent is known to be able to end a game before the learner's first move."""
        referee = self.referee
        if "board" not in given and referee.made["start"] != "empty":
            return False
        side = given.get("side", referee.made.get("side", "random"))
        return referee.may_end(given.get("board", referee.first), side, players)

    def refused(self, error, call):
        """What is said of a call that is refused; it draws no number and changes no game."""

        def present():
            generator = self.env.unwrapped.np_random.bit_generator
            return repr(generator.state), self.env.boards.tolist()

        before = present()
        with pytest.raises(error) as found:
            call()
        assert present() == before
        return str(found.value)

    # --- resets -----------------------------------------------------------------------------------

    def reset_some(self):
        """Start some games or all of them, with any options."""
        random = self.random
        referee = self.referee
        mask = np.ones(self.count, bool)
        given = {}
        if random.random() < 0.5:
            mask[random.sample(range(self.count), self.count // 2)] = False
        if random.random() < 0.3:
            given["board"], _ = played(referee.rules, referee.early_draw, random)
        if self.players and random.random() < 0.3:
            given["side"] = random.choice("XO")
        if self.players and random.random() < 0.3:
            given["opponent"] = referee.opponents()
        self.reset(random.choice((None, random.randrange(2**31))), given, mask)

    def reset(self, seed, given, mask):
        """given: the options, with a board as a tuple, and an opponent with its choices."""
        opponent, players = given.get("opponent", (None, self.players))
        options = dict(given)
        if "opponent" in given:
            options["opponent"] = opponent
        if "board" in given:
            options["board"] = board_text(given["board"], self.referee.rules)
        if not mask.all():
            options["reset_mask"] = mask
        call = partial(self.env.reset, seed=seed, options=options)
        if self.may_end(given, players):
            self.refused(ValueError, call)
            return
        seen, infos = call()
        if mask.all() and seed is not None:
            self.begun = [0] * self.count
        self.has_extra = "opponent" in given or (self.has_extra and not mask.all())
        self.begin(np.flatnonzero(mask).tolist(), infos, given, players)
        self.check(seen, infos)

    def begin(self, rows, infos, given, players):
        """Note the first states of games, which are those that the arguments and options allow."""
        made = self.referee.made
        boards = self.env.boards.tolist()
        for row in rows:
            seat = int(infos["side"][row])
            board = tuple(boards[row])
            first = self.referee.first if made["start"] == "empty" else board
            first = given.get("board", first)
            side = given.get("side", made.get("side", "XO"[PlainGame.mover(board) < 0]))
            if side == "alternate":
                side = "XO"[(row + self.begun[row]) % 2]
            assert seat in SEATS[side] or (callable(made["start"]) and "board" not in given)
            assert seat == PlainGame.mover(board)
            assert self.referee.is_reached(board)
            ways = self.referee.replied(State(first, seat, players))
            self.states[row] = either(way for way in ways if way.board == board and not way.over)
            self.begun[row] += 1
            self.moves[row] = 0
            self.over[row] = False

    # --- steps ------------------------------------------------------------------------------------

    def actions(self, errors=0.0):
        """An action in each game, which is illegal with this probability, if any is."""
        found = []
        for state in self.states:
            mask = np.array(self.referee.mask(state))
            wanted = mask.min() if self.random.random() < errors else 1
            found.append(self.random.choice(np.flatnonzero(mask == wanted).tolist()))
        return found

    def step(self):
        """Step, or start those games anew whose end awaits it."""
        referee = self.referee
        if self.mode == "DISABLED" and any(self.over):
            self.refused(ResetNeeded, lambda: self.env.step([0] * self.count))
            self.reset(None, {}, np.array(self.over))
            return
        masks = [referee.mask(state) for state in self.states]
        actions = self.actions(errors=0.15)
        array = np.array(actions, self.random.choice((np.int64, np.int32, np.uint8)))
        moves = zip(self.states, self.over, masks, actions, strict=True)
        wrong = [
            (one, action) for one, over, mask, action in moves if not over and not mask[action]
        ]
        if wrong and referee.made["illegal"] == "raise":
            said = self.refused(IllegalMoveError, lambda: self.env.step(array))
            assert any(said.startswith(name) for name in referee.names(*wrong[0]))
            return
        seen, rewards, terminated, truncated, infos = self.env.step(array)
        assert [one.dtype for one in (rewards, terminated, truncated)] == [np.float64, bool, bool]
        finished = terminated | truncated
        boards = self.env.boards.tolist()
        starts = []
        for row, action in enumerate(actions):
            found = rewards[row], terminated[row], truncated[row]
            if self.over[row]:  # in NEXT_STEP
                assert found == (0, False, False)
                starts.append(row)
                continue
            ways = referee.stepped(self.states[row], action)
            if self.mode == "SAME_STEP" and finished[row]:
                told = told_of(infos["final_obs"], infos["final_info"], row)
                ways = [way for way in ways if referee.told(way) == told]
                starts.append(row)
            else:
                ways = [way for way in ways if way.board == tuple(boards[row])]
                ways = [way for way in ways if way.over == terminated[row]]
            state = self.states[row] = either(ways)
            self.moves[row] += 1
            is_late = self.limit is not None and self.moves[row] >= self.limit and not state.over
            assert found == (referee.reward(state), state.over, is_late)
            self.over[row] = state.over or is_late
        if self.mode == "SAME_STEP" and finished.any():
            finals = infos.pop("final_info")
            assert not infos.pop("final_obs")[~finished].any()
            valid = [infos.pop("_final_obs"), infos.pop("_final_info")]
            valid += [finals[f"_{name}"] for name in INFOS]
            assert all(rows.tolist() == finished.tolist() for rows in valid)
        self.begin(starts, infos, {}, self.players)
        self.check(seen, infos)

    def check(self, seen, infos):
        """Check what is told of all games, and that it is the caller's own."""
        rows = range(self.count)
        told = [self.referee.told(state) for state in self.states]
        assert {*infos} == {*INFOS, *(f"_{name}" for name in INFOS)}
        assert all(infos[f"_{name}"].all() for name in INFOS)
        assert [told_of(seen, infos, row) for row in rows] == told
        assert seen.dtype == (np.float32 if self.referee.made["observation"] == "flat" else np.int8)
        assert {infos[name].dtype for name in INFOS} == {np.dtype(np.int8)}
        seen[...] = infos["action_mask"][...] = self.env.boards[...] = 7
        assert self.env.action_masks().tolist() == [mask for _, mask, *_ in told]
        assert self.env.boards.tolist() == [[*state.board] for state in self.states]

    # --- other calls ------------------------------------------------------------------------------

    def copy(self):
        """The games go on with a copy; another one plays alike; a seed begins the same games."""
        ways = [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]
        if hasattr(self.env, "state_dict"):
            ways.append(self.loaded)
        one, two, self.env = (self.random.choice(ways)(self.env) for _ in range(3))
        if self.mode != "DISABLED" or not any(self.over):
            actions = self.actions()
            np.testing.assert_equal(one.step(actions), two.step(actions))
        np.testing.assert_equal(one.reset(seed=1), self.fresh().reset(seed=1))

    def fresh(self):
        """A new environment with the present opponent."""
        env = self.new()
        if self.players:
            env.set_opponent(self.opponent)
        return env

    def loaded(self, env):
        """An environment that has loaded the games of another one."""
        other = copy.deepcopy(env) if self.has_extra else self.fresh()
        self.check(*other.load_state_dict(env.state_dict()))
        return other

    def wrong(self):
        """Actions that are none are refused."""
        wrong = self.random.choice(WRONG)
        errors = (ValueError, TypeError, ResetNeeded)
        self.refused(errors, lambda: self.env.step([wrong] * self.count))
        self.refused(errors, lambda: self.env.step([0] * (self.count + 1)))

    def change(self):
        """Another opponent plays on, and in all later games."""
        opponent, players = self.referee.opponents()
        if self.may_end({}, players):
            self.refused(ValueError, lambda: self.env.set_opponent(opponent))
            return
        self.env.set_opponent(opponent)
        self.opponent = opponent
        self.players = players
        self.has_extra = False
        self.states = [state._replace(players=players) for state in self.states]


def told_of(seen, infos, row):
    """What one game of many is told."""
    return [seen[row].tolist(), *(infos[name][row].tolist() for name in INFOS)]


def either(ways):
    """One of these ways, whose opponent may be any of theirs."""
    ways = [*ways]
    assert ways, "no way in which the game may go on"
    return ways[0]._replace(players=sum({way.players: way.players for way in ways}.values(), ()))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("form", MAKERS)
def test_every_game_goes_by_the_rules_and_the_arguments(form, seed):
    Games(seed, form)
