"""The page as one file that needs no server: `python -m apps.web.demo FILE`, `make demo`.

The file holds the page's style and scripts, and as tables the players that come with the package,
on 3x3: the moves of their certificates and their own values. In place of `data.js`, which asks the
server, stands `tables.js`. It opens from a disk, on a phone, and at any address of a web site.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from cyclopts import run
from rich.console import Console

from apps.players.gallery import Entry, Gallery
from apps.terminal.interpreter import command
from apps.terminal.report import say
from apps.web.api import described, groups, of_boards
from apps.web.network import page_at, reachable, show_code
from apps.web.refusals import STATIC
from apps.web.work import Json, growth, proof
from tictactoe_env.certificates.trained import BOARD, table_boards
from tictactoe_env.errors import printable
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.games.analysis import GameValue, Verdict

# They are slow to tabulate.
SEARCHES = ("search", "search-depth=4", "mcts-playouts=50", "mcts-playouts=1000")
PORT = 8000  # of `python -m http.server`
KEPT = " !$&'()*+,-./:;=?@[]^`{|}~"  # what may stand in the address of a script as it is


def page(gallery: Gallery) -> str:
    """The page with the players of a gallery that play on 3x3, as the text of an HTML file."""
    scripts = {path.name: read(path.name) for path in STATIC.glob("*.js")}
    scripts["data.js"] = scripts.pop("tables.js")
    # No file may load another one, so the modules stand in the page, under their bare names.
    modules = {
        name: "data:text/javascript," + quote(re.sub(r'(from |import\()"\./', r'\1"', text), KEPT)
        for name, text in scripts.items()
    }
    packed = gzip.compress(json.dumps(tables(gallery), separators=(",", ":")).encode())
    text = read("index.html").replace(
        "/static/icon.svg", f"data:image/svg+xml,{quote(read('icon.svg'))}"
    )
    for path in STATIC.glob("*.css"):
        link = f'<link rel="stylesheet" href="/static/{path.name}">'
        text = text.replace(link, f"<style>\n{read(path.name)}</style>")
    text = text.replace('<script src="/static/theme.js">', f"<script>{scripts['theme.js']}")
    return text.replace(
        '<script type="module" src="/static/app.js"></script>',
        f'<script type="importmap">{json.dumps({"imports": modules})}</script>\n'
        f'    <script type="text/plain" id="tables">{base64.b64encode(packed).decode()}</script>\n'
        '    <script type="module">import "app.js";</script>',
    )


def read(name: str) -> str:
    """The text of a file of the page."""
    return (STATIC / name).read_text(encoding="utf-8")


def tables(gallery: Gallery) -> Json:
    """The data of `tables.js`: the players, the positions of their tables, and words."""
    entries = [
        one
        for one in gallery.entries()
        if one.id not in SEARCHES and one.learned is None and one.plays(BOARD)
    ]
    boards = [BOARD.to_json()]
    worths = [GameValue(value, plies) for value in (-1, 0, 1) for plies in range(BOARD.cells + 1)]
    texts = {}
    for before in worths:
        for after in worths:
            key = f"{before.value},{before.plies},{after.value},{after.plies}"
            texts[key] = Verdict(0, 0, "X", before, after, threw_away=False).text
    return {
        "agents": [
            {**described(one), **proof(one.certificate()), "steps": growth(one), "boards": boards}
            for one in entries
        ],
        "groups": [one for one in groups() if one["id"] in {entry.group for entry in entries}],
        **of_boards([BOARD]),
        "positions": table_boards(),
        "players": {one.id: table(one) for one in entries},
        "worths": {f"{one.value},{one.plies}": one.text for one in worths},
        "verdicts": texts,
    }


def table(entry: Entry) -> Json:
    """The moves of a player in all unfinished positions, and its own values if it has any.

    The moves of trained players are exact, so that the page can hand out their certificates.
    """
    moves = [*entry.certificate().to_json()["moves"].values()]
    if entry.kind == "agent":
        moves = [rounded(move) for move in moves]
    model: Any = entry.seat(BOARD).model
    if not hasattr(model, "q_values"):
        return {"moves": moves}
    boards = positions_of(BOARD).boards[positions_of(BOARD).unfinished]
    values = [
        [
            round(value, 2) if np.isfinite(value) else None
            for value in row[BOARD.legal_cells(board)].tolist()
        ]
        for row, board in zip(model.q_values(boards), boards, strict=True)
    ]
    is_new = np.zeros(len(boards), bool)
    if hasattr(model, "is_new"):
        is_new = model.is_new(boards)
    return {
        "moves": moves,
        "values": values,
        "new": "".join(map(str, is_new.astype(int))),
        "meaning": model.meaning,
        "scale": getattr(model, "scale", (-1.0, 1.0)),
    }


def rounded(move: Any) -> Any:
    """A move of a certificate: the name of its cell, or the shares of several with four digits."""
    if isinstance(move, str):
        return move
    return {cell: round(share, 4) for cell, share in move.items()}


def write(file: Path = Path("build/demo.html"), /) -> None:
    """Write the page as one file that needs no server, with the players of the package."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(page(Gallery(())), encoding="utf-8")
    console = Console()
    say(f"The page is in {printable(file)}: open it in a browser.", console)
    for address in reachable()[:1]:
        phones = f"{page_at(address, PORT)}/{quote(file.name)}"
        serve = command("-m", "http.server", str(PORT), "--directory", str(file.parent))
        say(f"Phones in the same network open it at {phones} while this runs:", console)
        say(f"    {printable(serve)}", console)
        show_code(phones, console)


if __name__ == "__main__":
    run(write)
