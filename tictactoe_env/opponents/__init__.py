"""Opponents by name: players without training, trained agents, saved runs, and registered ones.

random, search-depth=4   the players of `BUILT_IN`, which need no training; options follow the name
trie, dqn                trained agents of this package, on 3x3, and alphazero also on 4x4; mcts is
                         one of them on 3x3, and a search of 1,000 playouts a move on other boards
gambler, parrot          some of them by the names that people call them, see `CALLED`
connect-four-x           wins every game of Connect Four (6x7) as X, by its certificate; as O it
                         makes random legal moves
runs/dqn-0               the policy that a run saved in its certificate.json
latest:dqn               the newest run of this agent in models/ or runs/ of the working folder
best:dqn                 the one with the best certificate: most sides that nobody can beat, then
                         most wins less losses against random play
best-response:trie       the exact best response to any of these

`gym.make`, every command line and the page for a browser accept these; all call `make_opponent`.
`minimax` plays on boards of up to 16 cells. A board is solved when it is needed for the first time,
4x4 in a second; all environments of a process share the solution, 43 MB on 4x4. It plays Connect
Four on 6x7 where bitbully is installed, see `exact.connect_four`: a game takes about a second.
`python -m tictactoe_env.opponents` lists all names, with their strengths and whether they can be
beaten.

A name stands for a function that makes the player, and this function is imported when the name is
asked for, as Gymnasium imports environments. An entry of `BUILT_IN` adds a name to the package: all
lists, errors and documents are made from it. `register_opponent` adds a name to a program:

    register_opponent("cautious", make_cautious)     # make_cautious(rules, depth=2) -> a player
    gym.make("tictactoe_env/TicTacToe-v0", opponent="cautious-depth=4")

A package adds a name for everyone who installs it with an entry point in its pyproject.toml:

    [project.entry-points."tictactoe_env.opponents"]
    cautious = "my_package.players:make_cautious"
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache, partial
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import is_zipfile

from tictactoe_env.called import CALLED, agent_called
from tictactoe_env.errors import unknown_name
from tictactoe_env.policy import (
    CanonicalPolicy,
    Policy,
    as_policy,
    checked_weights,
    keeps,
    plays_symmetrically,
)
from tictactoe_env.rules import SIDES, Rules, checked_rules

if TYPE_CHECKING:
    from tictactoe_env.certificates.content import Certificate

SELF = "self"
BEST_RESPONSE = "best-response"
RESPONSE_TO = f"{BEST_RESPONSE}:"
MOST_RESPONSES = 4  # in one name: best-response:best-response:trie replies to the reply
LATEST = "latest:"
BEST = "best:"
AGENT = "agent"
TRAINED = "trained"
RUN = "run"
LEARNED = (SELF, BEST_RESPONSE)  # made from the learner, so only where one is trained
_RESERVED = (*LEARNED, "best", "human", "latest", "learner", "rival")
EASY = "minimax-slip=0.3"  # perfect play that often slips
EASY_BEYOND = "search-depth=1"  # on boards that cannot be solved
EASY_FALLING = "search-depth=2"  # where marks fall: it stops a row that is open at both ends
_Factory = Callable[..., Any]


class BuiltIn(NamedTuple):
    """A player of this package that needs no training.

    factory: "module:factory", imported when the name is asked for; see `register_opponent`.
    description: its way to play. arguments: those for which the name stands. variants: the name
    with options, as lists show it too, and the way to play with these.
    """

    factory: str
    description: str
    arguments: Mapping[str, Any] = MappingProxyType({})
    variants: Mapping[str, str] = MappingProxyType({})


BUILT_IN = {
    "random": BuiltIn(
        "tictactoe_env.policy:RandomPolicy", "plays any legal move, each equally likely"
    ),
    "minimax": BuiltIn(
        "tictactoe_env.exact.solver:MinimaxPolicy",
        "perfect play that picks at random among the moves of the best result, however long the "
        "game then lasts",
        variants={
            "minimax-ties=fastest": "perfect play that wins as soon and loses as late as it can",
            "minimax-slip=0.1": "perfect play that makes 10 % of its moves at random",
        },
    ),
    "minimax-first": BuiltIn(
        "tictactoe_env.exact.solver:MinimaxPolicy",
        "perfect play that always picks the first of the moves of the best result",
        {"ties": "first"},
    ),
    "search": BuiltIn(
        "tictactoe_env.search.alphabeta:SearchPolicy",
        "alpha-beta search to the end of every game, which picks as minimax does",
        variants={
            "search-depth=1": "alpha-beta search that wins and blocks, but falls for a fork",
            "search-depth=2": "alpha-beta search that looks two moves ahead",
        },
    ),
    "mcts": BuiltIn(
        "tictactoe_env.search.mcts:MCTSPolicy",
        "Monte-Carlo tree search of 1,000 playouts a move; on 3x3 its trained table",
        variants={
            "mcts-playouts=50": "Monte-Carlo tree search of 50 playouts a move, with mistakes",
        },
    ),
}
"""The players that need no training, by name."""
TITLES = {
    "random": "Random player",
    EASY: "Easy opponent",
    EASY_BEYOND: "One step ahead",
    EASY_FALLING: "Search, 2 moves ahead",
    "search-depth=4": "Search, 4 moves ahead",
    "search": "Full search",
    "minimax-slip=0.1": "Medium opponent",
    "minimax-ties=fastest": "Perfect play",
    "minimax": "Perfect play, unhurried",
    "minimax-first": "Perfect play, always the same",
    "mcts-playouts=50": "Tree search, 50 playouts",
    "mcts-playouts=1000": "Tree search, 1,000 playouts",
    **{id: f"The {name.replace('-', ' ')}" for name, id in CALLED.items()},
}
"""What pages and programs call players."""
_registered: dict[str, _Factory] = {}
MODELS: dict[str, Any] = {}
"""The `sb3.SavedModel`s that the user trusts, by the texts that name them as players."""
_KINDS = {int: "a whole number", float: "a number", str: "a text"}


class Player(NamedTuple):
    """A player that a name stands for: how it is made, and where its certificate is.

    kind: AGENT, which a function makes, TRAINED, whose moves are in the package, or RUN, which was
    saved. name, options: of an AGENT. place: of a RUN, its folder, or a certificate that has none;
    a learner without a game has one too, though its folder is not made yet.
    stamp: the time and the size of a certificate that may change: it is another player then.
    foe: of a best response, an AGENT too, the player that it replies to.
    """

    id: str
    kind: str
    name: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    place: Path | None = None
    stamp: tuple[int, ...] = ()
    foe: Player | None = None

    @property
    def best_response(self) -> Player:
        """The best response to it."""
        return Player(RESPONSE_TO + self.id, AGENT, BEST_RESPONSE, foe=self)

    def policy(self, rules: Rules) -> Policy:
        """The player on a board. Raises ValueError if it cannot be made."""
        if self.foe is not None:
            return best_response_to(self.foe.policy(rules), rules)
        if self.kind == TRAINED:
            from tictactoe_env.certificates.trained import trained_policy

            return trained_policy(self.id, rules)
        if self.place is None:
            return as_policy(self._made(rules), rules)
        from tictactoe_env.certificates.certificate import load_policy

        try:
            return load_policy(self.place, rules)
        except FileNotFoundError as error:
            raise ValueError(f"{self.id!r} cannot play: {error}") from None

    def _made(self, rules: Rules) -> Any:
        """What its function makes."""
        make = _factory(self.name)
        if make is None:  # in a process that has not registered it
            raise ValueError(f"{self.name!r} is not registered in this process: use an entry point")
        try:
            return make(rules, **dict(self.options))
        except Exception as error:
            if isinstance(error, ValueError) or self.name in BUILT_IN:
                raise
            raise ValueError(f"{self.name!r} cannot play on {rules}: {error!r}") from error

    def certificate(self) -> Certificate | None:
        """Its certificate as it stands in a file, not verified; None for one without a file.

        Raises CertificateError, a ValueError, for a damaged file.
        """
        if self.kind == TRAINED:
            from tictactoe_env.certificates.trained import certificate_of

            return certificate_of(self.id)
        if self.place is None or not self.place.exists():
            return None
        from tictactoe_env.certificates.certificate import read

        return read(self.place)


def best_response_to(policy: Policy, rules: Rules) -> Policy:
    """The exact best response to a player, with one move in each position: see `with_replies`.

    On boards of more than 12 cells it plays as search-depth=1-ties=first in positions that the
    player cannot meet, or as a side of which its certificate says nothing.
    Raises ValueError for a player that is no function of the board, or can meet too many positions.
    """
    from tictactoe_env.certificates.certificate import VERIFIED
    from tictactoe_env.certificates.reach import ReachPolicy
    from tictactoe_env.exact.positions import TABULATED
    from tictactoe_env.exact.proof import ProofLimitError
    from tictactoe_env.exact.provable import to_be_met
    from tictactoe_env.exact.responses import best_response_player
    from tictactoe_env.search.alphabeta import SearchPolicy

    sides = policy.sides if keeps(policy, ReachPolicy) else SIDES
    elsewhere = SearchPolicy(rules, ties="first", depth=1)
    try:
        with to_be_met(policy, rules) as player:
            found = best_response_player(
                player, rules, sides, elsewhere, limit=VERIFIED, deterministic=True
            ).player
    except ProofLimitError as error:
        known = "on boards of up to 12 cells, and to players that can meet fewer positions"
        raise ValueError(f"{error}; a best response is known {known}") from None
    if rules.cells > TABULATED and plays_symmetrically(policy):
        return CanonicalPolicy(found, rules)  # elsewhere, too, so that proofs of it remain small
    return found


def easy_opponent(rules: Rules) -> str:
    """The name of the opponent that a person begins with on a board."""
    from tictactoe_env.exact.solver import can_solve

    if rules.gravity:
        return EASY_FALLING
    return EASY if can_solve(rules) else EASY_BEYOND


def title_of(name: str) -> str:
    """The name by which people call an opponent, such as "Easy opponent"; else the name."""
    return TITLES.get(name, name)


def make_opponent(
    spec: Any, rules: Rules, what: str = "opponent", also: Iterable[str] = ()
) -> Policy:
    """The policy of a name, a saved run, or an object with `probs` or `predict`.

    A saved run plays by the moves of its certificate; on boards of more than 12 cells it makes
    random legal moves off its lines, see `certificates.reach.ReachPolicy`.
    what: what an error calls the player. also: further names that the error lists.
    Raises ValueError for an unknown name or option, a damaged run, a player of another board, and
    an object that is not a player.
    """
    checked_rules(rules)
    if not isinstance(spec, (str, os.PathLike)):
        return as_policy(spec, rules)
    return resolve(spec, rules, what, also).policy(rules)


def resolve(
    spec: str | os.PathLike[str],
    rules: Rules | None = None,
    what: str = "opponent",
    also: Iterable[str] = (),
) -> Player:
    """The player of a name, or the saved run of a path; only `latest:` and `best:` read files.

    `latest:AGENT` is the newest run of this agent, `best:AGENT` the one with the best certificate,
    on the board `rules` if there is one: see `certificates.runs.run_named`. what: what an error
    calls the player. also: further names that the error lists. Raises ValueError for an unknown
    name or option, and for a trained agent that does not play on this board.
    """
    named = named_player(spec, rules)
    if named is not None:
        return named
    if (foe := foe_of(spec)) is not None:
        return resolve(foe, rules, what, also).best_response
    place = _saved_place(spec, rules, what, also)
    return Player(place.as_posix(), RUN, place=place)


# --- texts ----------------------------------------------------------------------------------------


def split_options(text: str) -> tuple[str, list[str]]:
    """The name and the options of a text such as "search-depth=4-ties=first"."""
    name, *options = re.split(r"-(?=[a-z_]+=)", text)
    return name, options


def named_player(spec: str | os.PathLike[str], rules: Rules | None = None) -> Player | None:
    """The player of a name such as "trie" or "search-depth=4-ties=first"; None for other texts.

    Raises ValueError for an unknown option, for a value of the wrong type, and for a trained agent
    that does not play on this board.
    """
    if not isinstance(spec, str):
        return None
    typed = spec
    spec = id_of(spec)
    if spec in MODELS:
        return Player(spec, AGENT, spec)
    if is_trained(spec, rules):
        return Player(spec, TRAINED)
    name, texts = split_options(spec)
    make = _factory(name)
    if make is not None:
        return Player(spec, AGENT, name, tuple(read_options(name, texts, options_of(make)).items()))
    if texts and is_trained(id_of(name)):
        read_options(name, texts, {})  # raises
    if rules is not None and is_trained(spec):
        from tictactoe_env.certificates.trained import check_board

        check_board(typed, rules)
    return None


def id_of(name: str) -> str:
    """The name of the trained agent that people call "The gambler" or gambler; else the text.

    In best-response:gambler it is that of the player after the colon.
    """
    if (foe := foe_of(name)) is not None:
        return RESPONSE_TO + id_of(foe)
    return agent_called(name)


def foe_of(spec: str | os.PathLike[str]) -> str | None:
    """The player that a text such as "best-response:trie" replies to; None for another text."""
    if not isinstance(spec, str) or not spec.startswith(RESPONSE_TO):
        return None
    if spec.count(RESPONSE_TO) > MOST_RESPONSES:
        raise ValueError(f"{RESPONSE_TO} may stand {MOST_RESPONSES} times at most, got {spec:.99}")
    return spec.removeprefix(RESPONSE_TO)


def read_options(name: str, texts: Iterable[str], known: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of options such as "depth=4"; known: those of `options_of`."""
    found: dict[str, Any] = {}
    for text in texts:
        key, _, value = text.partition("=")
        if key not in known:
            raise unknown_name(f"option of {name}", key, known)
        if key in found:
            raise ValueError(f"{key} of {name} is repeated: give each option once")
        kind = type(known[key])
        try:
            found[key] = kind(value)
        except ValueError:
            raise ValueError(f"{key} of {name} must be {_KINDS[kind]}, got {value!r}") from None
    return found


def options_of(make: _Factory) -> dict[str, Any]:
    """The options of a player: the arguments of `make` whose defaults are int, float or str."""
    return {
        key: parameter.default
        for key, parameter in inspect.signature(make).parameters.items()
        if type(parameter.default) in _KINDS
    }


def text_of(player: object) -> str | None:
    """The text from which `make_opponent` makes the same player: "minimax-ties=first-slip=0.1".

    It has every option, so that it stays the same player if a default changes. None for a player
    that no function of this package makes.
    """
    kind = type(player)
    own = f"{kind.__module__}:{kind.__qualname__}"
    name = next((name for name, one in BUILT_IN.items() if one.factory == own), None)
    if name is None or not keeps(player, kind):
        return None
    return name + "".join(f"-{option}={getattr(player, option)}" for option in options_of(kind))


def parse_pool(text: str) -> list[tuple[str, float]]:
    r"""Names and weights of "random:0.5,minimax:0.25,self:0.25", scaled to sum to 1.

    A name without a weight has the weight 1. What follows the last colon is a weight if it is a
    number; otherwise it belongs to the name, as in `latest:dqn` and `C:\runs\foe`.
    """
    pairs = []
    for part in text.split(","):
        name, _, weight = part.strip().rpartition(":")
        try:
            pairs.append((name, float(weight)))
        except ValueError:
            pairs.append((part.strip(), 1.0))
    names, weights = zip(*pairs, strict=True)
    if not all(names):
        raise ValueError(f"opponents must be written as name:weight,name:weight, got {text!r}")
    return [*zip(names, checked_weights(weights), strict=True)]


def is_trained(spec: Any, rules: Rules | None = None) -> bool:
    """True if a text names a trained agent of this package that plays on this board, or on any."""
    if not isinstance(spec, str) or (spec in BUILT_IN and spec != "mcts"):
        return False
    from tictactoe_env.certificates.trained import trained_names

    return spec in trained_names(rules)


def _saved_place(
    spec: str | os.PathLike[str], rules: Rules | None, what: str, also: Iterable[str]
) -> Path:
    """The folder of the saved run that a text names, or a certificate without a run."""
    from tictactoe_env.certificates import runs

    text = str(spec)
    if isinstance(spec, str) and spec.startswith((LATEST, BEST)):
        return runs.place_named(spec, rules)
    if isinstance(spec, str) and split_options(spec)[0] in LEARNED:
        raise ValueError(
            f"{spec!r} is made from a learner: see add_snapshot of an environment; "
            f"{RESPONSE_TO}NAME is the best response to a player"
        )
    is_path = not isinstance(spec, str) or os.sep in text or "/" in text or text.endswith(".json")
    if is_path or (text and os.path.exists(text)):
        path = Path(spec)
        if not path.exists():
            names = "a name that python -m tictactoe_env.opponents lists"
            raise ValueError(f"there is no {text!r}: expected the path of a saved run, or {names}")
        if is_model(path):
            raise UntrustedModelError(path)
        return runs.place_of(path)
    if text in runs.agents_with_runs():
        raise ValueError(f"unknown player {text!r}: its newest run is {LATEST}{text}")
    raise unknown_player(what, text, {*known_names(), *also})


def unknown_player(what: str, name: str, known: Iterable[str]) -> ValueError:
    """The error for an unknown player."""
    return unknown_name(what, name, known, where="python -m tictactoe_env.opponents lists them")


def is_model(path: str | os.PathLike[str]) -> bool:
    """True if a path is that of a zip, as the models are that Stable-Baselines3 saves."""
    return Path(path).suffix == ".zip" or (os.path.isfile(path) and is_zipfile(path))


class UntrustedModelError(ValueError):
    """A model that Stable-Baselines3 saved: whoever reads it executes the code in it."""

    def __init__(self, path: Path):
        self.path = path
        super().__init__(
            self.text(
                "from tictactoe_env.sb3 import SavedModel; "
                f"opponent = SavedModel({str(path)!r}).policy()"
            )
        )

    def text(self, how: str) -> str:
        """The error in one line. how: what to do if one trusts the file."""
        return f"reading {str(self.path)!r} may execute code in it; if you trust it: {how}"


# --- the registry ---------------------------------------------------------------------------------


def register_opponent(name: str, factory: _Factory) -> None:
    """Make `name` an opponent everywhere: `gym.make`, pools, command lines, terminal and page.

    factory: called as `factory(rules, **options)` for each environment. It returns a player: an
    object with `probs(boards)`, or with Stable-Baselines3's `predict`. Its keyword arguments whose
    defaults are int, float or str are options of the name: with `factory(rules, depth=2)` the text
    "NAME-depth=4" calls `factory(rules, depth=4)`. It raises ValueError for a board on which the
    player cannot play. The first line of its docstring describes it in lists. The page makes moves
    on boards of more than 9 cells in processes of its own, which know the names of entry points.

    A name that was registered before is replaced. Raises ValueError for a name of this package, and
    for one that is not made of letters, digits, `_` and `-`.
    """
    if not isinstance(name, str) or not re.fullmatch(
        "[A-Za-z][A-Za-z0-9_]*(-[A-Za-z0-9_]+)*", name
    ):
        raise ValueError(f"the name of an opponent must be letters, digits, _ and -, got {name!r}")
    if not callable(factory):
        raise ValueError(f"{name} needs a function factory(rules, **options), got {factory!r}")
    if name in BUILT_IN or name in _RESERVED or is_trained(id_of(name)):
        raise ValueError(f"{name!r} is a name of tictactoe_env itself: register another name")
    _registered[name] = factory


def unregister_opponent(name: str) -> None:
    """Remove a name that `register_opponent` added. Raises ValueError if there is none."""
    if name not in _registered:
        raise unknown_name("registered opponent", name, _registered)
    del _registered[name]


def registered_names() -> list[str]:
    """The names that other packages and this program have added, sorted."""
    return sorted({*_registered, *_entry_points()})


def built_in() -> dict[str, str]:
    """The names of `BUILT_IN` and their variants, with the way to play of each."""
    return {
        name: sentence
        for base, one in BUILT_IN.items()
        for name, sentence in {base: one.description, **one.variants}.items()
    }


def untrained_names() -> list[str]:
    """The names of the players that need no training: those of `built_in`, then added ones."""
    return [*built_in(), *registered_names()]


def description(name: str) -> str:
    """The way to play of a player of `untrained_names`; "" for any other name.

    An added one is described by the first line of its factory's docstring. Of an entry point that
    cannot be imported, the reason is given.
    """
    if name not in registered_names():
        return built_in().get(name, "")
    try:
        factory = _factory(name)
    except ValueError as error:
        return str(error)
    where = "this program" if name in _registered else _entry_points()[name].value
    return (inspect.getdoc(factory) or f"added by {where}").splitlines()[0]


def known_names(folders: Iterable[str | os.PathLike[str]] = ("models", "runs")) -> list[str]:
    """The names that an error knows: built in, registered, trained, newest runs, and paths."""
    from tictactoe_env.certificates.runs import agents_with_runs
    from tictactoe_env.certificates.trained import trained_names

    return [
        *untrained_names(),
        *(name for name in trained_names(None) if name not in BUILT_IN),
        *CALLED,
        *(f"{LATEST}{agent}" for agent in agents_with_runs(tuple(folders))),
        "the path of a saved run",
    ]


@cache
def imported(name: str) -> _Factory:
    """The function that makes a player of `BUILT_IN`, imported now."""
    return partial(resolve_name(BUILT_IN[name].factory), **BUILT_IN[name].arguments)


@cache
def _entry_points() -> dict[str, Any]:
    """The names that installed packages add; those of this package stay its own."""
    from importlib.metadata import entry_points

    found = {one.name: one for one in entry_points(group="tictactoe_env.opponents")}
    return {
        name: one
        for name, one in found.items()
        if name not in {*BUILT_IN, *_RESERVED} and not is_trained(id_of(name))
    }


def _factory(name: str) -> _Factory | None:
    """The function that makes the players of a name, imported now; None for another text."""
    if name in BUILT_IN:
        return imported(name)
    if name in MODELS:
        return MODELS[name].policy
    return _registered.get(name) or _loaded(name)


@lru_cache(maxsize=256)  # texts from a page may be anything
def _loaded(name: str) -> _Factory | None:
    """The factory of an entry point; None if there is none of this name."""
    found = _entry_points().get(name)
    if found is None:
        return None
    try:
        factory = found.load()
    except Exception as error:
        raise ValueError(f"{name!r} cannot be imported from {found.value}: {error!r}") from error
    if not callable(factory):
        raise ValueError(f"the entry point {name!r} names no factory, but {factory!r}")
    return factory
