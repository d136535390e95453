"""Write the trained agents of the package from the runs of benchmarks/results.py.

    python -m benchmarks.trained

For every setting of benchmarks/results.py one run in runs/results becomes a table in
`tictactoe_env/trained/tables`; its own values, rounded, and its growth (steps, losses, proofs)
become files in `apps/players/tables`. Of an agent it is the best of its seeds, of a preset seed 0.
Only certificates that `verify` accepts are taken, if the model beside them makes their moves.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import agents
from apps.players.seat import VALUES_FOLDER
from benchmarks.results import ROOT, RUNS, SETTINGS, Setting
from tictactoe_env.certificates.certificate import FILE, read, table_of, verify
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.certificates.trained import BOARD, FOLDER, TABLE, ending, table_boards
from training.checkpoint import load_model
from training.files import write_bytes
from training.metrics import FILE as METRICS
from training.metrics import GROWTH, Row, read_metrics, write_metrics
from training.values import write_values

MOST_BYTES = 300_000  # of all tables together
MOST_CHECKS = 40  # exact evaluations of a training that are kept
STEPS = 1024  # of the scale, to which own values are rounded: they take a third of the space
LARGER = RUNS / "alphazero-4x4x4"  # the run whose certificate comes with the package as it is


def best_run(setting: Setting) -> Path | None:
    """The folder of the run that is taken for a setting; None if there is none."""
    folders = sorted(path.parent for path in (ROOT / RUNS).glob(f"{setting.name}-[0-9]*/{FILE}"))
    runs = [(folder, read(folder)) for folder in folders]
    if setting.preset:  # so that there are weaker ones too
        runs = [(folder, found) for folder, found in runs if found.stated.seed == 0]
    best = max(runs, key=lambda run: _strength(run[1]), default=None)
    return None if best is None else best[0]


def _strength(found: Certificate) -> tuple[Any, ...]:
    """The greater the better: who can be beaten, then wins against random play, then the seed."""
    sides = found.trained.values()
    unbeatable = sum(one.unbeatable for one in sides)
    optimal = sum(one.optimal for one in sides)
    wins = sum(one.vs_random.win for one in sides)
    return unbeatable, optimal, round(wins, 9), -(found.stated.seed or 0)


def checked_player(folder: Path) -> tuple[Certificate, Any]:
    """The certificate of a run, and its player.

    Raises CertificateError if the results of the certificate do not follow from its moves, and
    ValueError if the model in the folder makes other moves.
    """
    certificate = read(folder)
    verify(certificate)
    module = agents.module(certificate.stated.agent)
    config, model = load_model(module, folder)
    player: Any = module.player(config, model)
    if not np.array_equal(player.table, table_of(certificate).table):
        raise ValueError(f"the model of {folder} does not make the moves of its certificate")
    return certificate, player


def table_bytes(certificate: Certificate) -> bytes:
    """The file of a certificate's table. Raises ValueError as `pack` does."""
    text = json.dumps(pack(certificate), separators=(",", ":"))
    return gzip.compress(text.encode(), mtime=0)


def pack(certificate: Certificate) -> dict[str, Any]:
    """A certificate with its moves as a list. ValueError for one of another board than 3x3."""
    if certificate.rules != BOARD:
        raise ValueError(f"a table is packed for {BOARD}, got {certificate.rules}")
    content = certificate.to_json()
    return {**content, "moves": [content["moves"][text] for text in table_boards()]}


def write_rounded(player: Any, certificate: Certificate, path: Path) -> None:
    """Write the own values of a player."""
    own = player.own
    unit = (own.scale.high - own.scale.low) / STEPS
    rounded = own._replace(values=(np.round(own.values / unit) * unit).astype(np.float32))
    write_values(rounded, certificate.sha256_of_moves, path)


def growth_of(folder: Path, certificate: Certificate) -> list[Row]:
    """At most MOST_CHECKS exact evaluations of a run, close at first, as its chart has them.

    Among them are the last one, the one of the certificate, and the first proof of each side.
    """
    rows = read_metrics(folder / METRICS)
    steps = [row["steps"] for row in rows]
    kept = {steps.index(certificate.stated.training["best_at"]["steps"])}
    for name in ("unbeatable_x", "unbeatable_o"):
        proven = [row[name] for row in rows]
        if 1 in proven:
            kept.add(proven.index(1))
    spread = np.geomspace(1, len(rows), MOST_CHECKS - len(kept))
    kept |= {round(one) - 1 for one in spread}
    return [{name: round(rows[n][name], 5) for name in GROWTH} for n in sorted(kept)]


def main() -> int:
    """Write the tables; the exit code is 1 if a setting has no run."""
    missing = []
    written = {}
    players = {}
    growths = {}
    for setting in SETTINGS:
        folder = best_run(setting)
        if folder is None:
            missing.append(setting.command)
            continue
        certificate, player = checked_player(folder)
        data = written[FOLDER / f"{setting.name}{TABLE}"] = table_bytes(certificate)
        growths[VALUES_FOLDER / f"{setting.name}.csv"] = growth_of(folder, certificate)
        if hasattr(player, "own"):
            players[VALUES_FOLDER / f"{setting.name}.npz"] = player, certificate
        print(f"{setting.name}: {folder.name}, {len(data):,} bytes")
    size = sum(map(len, written.values()))
    print(f"{size:,} bytes in all")
    if size > MOST_BYTES:
        raise ValueError(f"the tables must take at most {MOST_BYTES:,} bytes, got {size:,}")
    if (ROOT / LARGER / FILE).exists():
        verify(found := read(ROOT / LARGER))
        written[FOLDER / f"alphazero{ending(found.rules)}"] = (ROOT / LARGER / FILE).read_bytes()
    else:
        missing.append(f"train.py alphazero --board 4x4x4 --until unbeatable --out {LARGER}")
    names = {setting.name for setting in SETTINGS}
    for old in {*FOLDER.iterdir(), *VALUES_FOLDER.iterdir()} - {*written, *players, *growths}:
        if old.name.partition(".")[0] in names:
            old.unlink()
    for path, data in written.items():
        write_bytes(path, data)
    for path, (player, certificate) in players.items():
        write_rounded(player, certificate, path)
    for path, rows in growths.items():
        write_metrics(path, rows)
    for command in missing:
        print(
            f"no run of `{command}` in {RUNS}: run python -m benchmarks.results --seeds 10 first",
            file=sys.stderr,
        )
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
