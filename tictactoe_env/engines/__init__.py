"""The games of the environments, fast: rows of tables on small boards, bitboards on any board.

`interface` says what an engine does. Public are the exploring starts alone, an argument of the
environments.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tictactoe_env.engines.starts import ExploringStarts

__all__ = ["ExploringStarts"]
_MODULES = ("starts",)


if not TYPE_CHECKING:  # type checkers shall report a name that does not exist

    def __getattr__(name: str) -> Any:
        """The modules are imported when a name is asked for: an environment needs few of them."""
        for module in _MODULES if name in __all__ else ():
            found = _import_module(f"{__name__}.{module}")
            if hasattr(found, name):
                return getattr(found, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
