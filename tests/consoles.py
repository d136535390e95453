"""What is printed to a console that is no terminal."""

import io

from rich.console import Console


def printed(print_it, *arguments, width=100, **settings):
    """What `print_it(*arguments, console)` prints. settings: of the console."""
    console = Console(file=io.StringIO(), width=width, color_system=None, **settings)
    print_it(*arguments, console)
    return console.file.getvalue()
