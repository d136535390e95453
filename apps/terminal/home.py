"""The default store of games, in the user's data folder."""

from __future__ import annotations

from pathlib import Path


def default_store() -> Path:
    """The path of the default store, such as ~/.local/share/tictactoe-env/games.db."""
    from platformdirs import user_data_path

    return user_data_path("tictactoe-env", appauthor=False) / "games.db"


def options(path: Path) -> list[str]:
    """The options that name a store on a command line; none for the default store."""
    return [] if path == default_store() else ["--store", str(path)]
