"""The programs of the README and of the pages in docs/, and what the pages say that they print.

`python tests/doc_pages.py docs/quick_start.md` runs the blocks of a page and writes what they print
into its blocks of output: read the difference before you commit it.
"""

import os
import re
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
CLONE = "agents|apps|benchmarks|training"
EXTRAS = r"stable_baselines3|sb3_contrib|pettingzoo|torch|tictactoe_env\.(?:sb3|pettingzoo)"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```output\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """A block of Python, and the output that stands below it, None if there is none."""

    code: str
    output: str | None


def blocks(path: Path) -> list[Block]:
    """The blocks of Python of a page, in order. A later one may use names of an earlier one."""
    found = BLOCK.finditer(path.read_text(encoding="utf-8"))
    return [Block(one[1], one[2]) for one in found]


def imports(block: Block, modules: str) -> bool:
    """Whether a block imports one of these modules, a regular expression."""
    return bool(re.search(rf"^(?:from|import) (?:{modules})\b", block.code, re.MULTILINE))


def printed(code: str, name: str, names: dict[str, object]) -> str:
    """What a block prints. names: those of the earlier blocks; its own are added."""
    with redirect_stdout(StringIO()) as output:
        exec(compile(code, name, "exec"), names)
    return output.getvalue()


def pages() -> dict[str, list[Block]]:
    """The blocks of every page that has some, by its path in the repository."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = {path.relative_to(ROOT).as_posix(): blocks(path) for path in paths}
    return {name: some for name, some in found.items() if some}


def main() -> None:
    """Write the output of the pages that are named."""
    for name in sys.argv[1:]:
        path = Path(name).resolve()
        names = {"__name__": "page"}

        def with_output(found: re.Match[str], names=names, page=path.name) -> str:
            output = printed(found[1], page, names)
            given = f"```python\n{found[1]}```\n"
            return given if found[2] is None else f"{given}\n```output\n{output}```"

        with TemporaryDirectory() as folder:
            os.chdir(folder)
            text = BLOCK.sub(with_output, path.read_text(encoding="utf-8"))
            os.chdir(ROOT)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
