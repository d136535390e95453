"""The notebooks of the documentation run from the first cell to the last, in an empty folder."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def output_of(notebook):
    """All that the cells of a notebook print and show, as text."""
    outputs = [one for cell in notebook.cells for one in cell.get("outputs", [])]
    shown = [one.get("text", "") + str(one.get("data", "")) for one in outputs]
    return "\n".join(shown)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs_and_names_its_kernel(path):
    """The site and the test below run them, so no output can be out of date."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell for cell in code if cell.outputs or cell.execution_count] == []
    assert notebook.metadata.kernelspec.name == "python3"
    assert notebook.cells[0].source.startswith("# ")


SAYS = {
    "find_the_lost_game": ["CAN BE BEATEN", "image/svg+xml", "lost: None"],
    "train_and_prove": ["unbeatable: True", "| unbeatable: True"],
    "what_a_network_believes": ["image/gif", "image/png"],
}


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_promises(path, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()
    output = output_of(notebook)
    assert [text for text in SAYS[path.stem] if text not in output] == []
