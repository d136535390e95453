"""What is printed to a console that is no terminal."""

import io

from rich.console import Console


def printed(print_it, *arguments, width=100):
    """What `print_it(*arguments, console)` prints."""
    console = Console(file=io.StringIO(), width=width)
    print_it(*arguments, console)
    return console.file.getvalue()
