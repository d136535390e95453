"""The documents: their programs run and print what stands there, and what they name exists."""

import inspect
import json
import re
import shlex
import textwrap
from importlib.util import find_spec

import doc_pages
import pytest
from markdown_it import MarkdownIt
from programs import ROOT

import agents
import evaluate
import play
import train
from tictactoe_env import sb3
from tictactoe_env.opponents.__main__ import main

README = (ROOT / "README.md").read_text(encoding="utf-8")
OTHERS = ("README.md", "CONTRIBUTING.md", "tictactoe_env/certificates/FORMAT.md")
DOCUMENTS = [*(ROOT / name for name in OTHERS), *sorted((ROOT / "docs").glob("*.md"))]
LEARNS = r"\.learn\(([\d_]+)"
LONGEST = 550_000  # steps of a training in a page that the tests run to the end


def docstring(documented):
    """The program in a docstring of tictactoe_env.sb3, which only begins to learn here."""
    (found,) = re.findall(r"\n\n((?:    .*\n|\n)+)", inspect.getdoc(documented))
    return [doc_pages.Block(re.sub(LEARNS, ".learn(200", textwrap.dedent(found)), None)]


DOCUMENTED = (sb3, sb3.ExactEvaluation, sb3.SelfPlay, sb3.ppo_recipe)
PAGES = doc_pages.pages() | {one.__name__: docstring(one) for one in DOCUMENTED}


def page(name):
    steps = re.findall(LEARNS, "".join(block.code for block in PAGES[name]))
    return pytest.param(name, marks=[pytest.mark.slow] * any(int(count) > 200 for count in steps))


def shorter(found):
    """A training of many minutes, such as that of 4x4, is only begun here."""
    steps = int(found[1])
    return f".learn({steps if steps <= LONGEST else 70_000}"


@pytest.mark.parametrize("name", [page(name) for name in PAGES])
def test_a_program_runs_alone_or_says_what_it_continues_and_prints_what_stands_below(
    name, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    above = {}
    for block in PAGES[name]:
        names = {"__name__": "page"}
        if block.code.startswith("# continues the program above\n"):
            names |= above
        else:
            assert "gym.make" not in block.code or doc_pages.imports(block, "tictactoe_env")
        code = re.sub(LEARNS, shorter, block.code)
        output = doc_pages.printed(code, name, names)
        assert block.output is None or output == block.output
        above |= names


def test_the_proof_in_the_readme_is_what_its_command_prints(capsys):
    command = "python -m tictactoe_env.opponents ([^\n]+)\n```\n\n```text\n(.+?)```"
    names, proof = re.search(command, README, re.DOTALL).groups()
    assert main(names.split()) == 0
    assert capsys.readouterr().out == proof


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_links_and_the_make_commands_of_a_page_exist_and_its_outputs_have_programs(path):
    text = path.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if "://" not in link and not (path.parent / link).exists()] == []
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = set(re.findall(r"(?:`|^    |^)make ([a-z-]+)", text, re.MULTILINE))
    assert commands <= set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    blocks = doc_pages.blocks(path)
    assert text.count("```output") == sum(block.output is not None for block in blocks)


NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
TEXTS = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")})
HEADER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)  # of a page of the site
LISTS = {"bullet_list_open", "ordered_list_open"}
BLOCKS = {"heading_open", "blockquote_open", "fence", "html_block", "hr", "table_open", *LISTS}
OF_THE_SITE = re.compile(r"%|\+\+\+|\(.*\)=$")  # what MyST takes for no text


def texts(path):
    """A document as texts of Markdown: a file, or the cells of a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return [HEADER.sub("", text)]
    cells = json.loads(text)["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]


def no_text(text):
    """The lines inside of paragraphs that are shown as something else, such as a list.

    A list may follow the colon that announces it.
    """
    lines = re.sub("^:::.*", "", text, flags=re.MULTILINE).split("\n")
    tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(lines))
    ends = {token.map[1] for token in tokens if token.type == "paragraph_open"}
    for token in tokens:
        first, last = token.map or (0, 0)
        is_announced = token.type in LISTS and lines[first - 1].endswith(":")
        if token.type == "inline":
            yield from filter(OF_THE_SITE.match, token.content.split("\n")[1:])
        elif token.type == "heading_open" and token.markup in ("-", "="):
            yield lines[last - 1]
        elif token.attrGet("start"):  # a list that begins with another number than 1
            yield lines[first]
        elif is_announced or token.content.startswith("<!--"):
            continue
        elif first in ends and token.type in BLOCKS:
            yield lines[first]


@pytest.mark.parametrize("path", [*TEXTS, *NOTEBOOKS], ids=lambda path: path.name)
def test_no_line_of_a_paragraph_turns_into_a_list_a_heading_or_the_like(path):
    assert [line for text in texts(path) for line in no_text(text)] == []


TURNED = ("1. So", "1) So", "- 5", "+ 3", "* 2", "# 1", "> 5", "---", "===", "***", "_ _ _", "```")
TURNED += ("~~~", "<div>", "% 5", "+++", "(so)=")


@pytest.mark.parametrize("line", TURNED)
def test_such_a_line_is_found(line):
    assert [*no_text(f"Five and\n{line}\n\nThe end.")] == [line]
    assert [*no_text(f"Five and {line}\n\nThe end.")] == []


FENCE = re.compile(r"^```bash\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^(?:\.venv/bin/)?python3? (train\.py|evaluate\.py|play\.py|-m [\w.]+) (.+)")
PLACEHOLDERS = {"AGENT", "NAME", "RUN", "N", "FILE", "monte_carlo"}


def commands():
    """The program and the words of every command line of the documents, each once."""
    found = {}
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8").replace("\\\n", " ")
        lines = "\n".join(FENCE.findall(text)).splitlines()
        lines += re.findall(r"^    (.+)", text, re.MULTILINE)
        lines += [line.replace("\n", " ") for line in re.findall(r"`([^`]+)`", text)]
        for line in lines:
            if match := COMMAND.match(line.strip()):
                words = shlex.split(match[2], comments=True)
                if words and not {"...", "--help", "--web", *PLACEHOLDERS} & {*words}:
                    found[f"{path.name}: {match[1]} {' '.join(words)}"] = (match[1], words)
    return found


COMMANDS = commands()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_of_a_page_is_read_by_its_program(name):
    program, words = COMMANDS[name]
    if program.startswith("-m "):
        assert find_spec(program.removeprefix("-m "))
    elif program == "evaluate.py":
        assert evaluate.LINE.parse(words)
    elif program == "play.py":
        assert play.LINE.parse(words)
    else:
        agent = "trie" if words[0] == "--resume" else words[0]
        assert train.command_line(agents.module(agent), train.PROGRAMS).parse(words)
