"""The notebooks of the documentation are kept as a run of all their cells left them."""

import re

import nbformat
import pytest
from notebooks import executed, outputs
from programs import ROOT

FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SHOWS = {
    "find_the_lost_game": ["text", "text/html", "data:image/svg+xml", "can be beaten as O"],
    "train_and_prove": ["text", "image/png", "cannot be beaten"],
    "what_a_network_believes": ["text", "image/png", "data:image/gif", "cannot be beaten"],
}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_as_one_run_from_the_first_cell_to_the_last(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert path.stat().st_size < 400_000
    assert notebook.metadata.kernelspec.name == "python3"
    assert notebook.cells[0].source.startswith("# ")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    shown = str(outputs(notebook))
    assert [text for text in SHOWS[path.stem] if text not in shown] == []
    assert re.findall("/home/|/root/|/Users/|/tmp/|site-packages", shown) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_again_what_it_is_stored_with(path):
    """A network learns other numbers on another processor, so only its verdict is compared."""
    stored, again = (outputs(one) for one in (nbformat.read(path, as_version=4), executed(path)))
    assert [text for text in SHOWS[path.stem] if text not in str(again)] == []
    for was, now in zip(stored, again, strict=True):
        assert was.keys() == now.keys()
        exact = set() if path.stem == "what_a_network_believes" else was.keys() - {"image/png"}
        assert {kind: was[kind] for kind in exact} == {kind: now[kind] for kind in exact}
