"""The games of the environments, fast: rows of tables on small boards, bitboards on any board.

`interface` says what an engine does. Public are the exploring starts alone, an argument of the
environments.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tictactoe_env.engines.starts import ExploringStarts

__all__ = ["ExploringStarts"]


if not TYPE_CHECKING:  # type checkers shall report a name that does not exist

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from tictactoe_env.engines.starts import ExploringStarts  # few environments need it

        return ExploringStarts
