"""The notebooks of the documentation, run in an empty folder.

`python tests/notebooks.py docs/notebooks/train_and_prove.ipynb` runs a notebook and writes its
outputs into it: read the difference before you commit it.
"""

import copy
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient


def executed(path):
    """A notebook after a run of all its cells, without the time and the versions of the run."""
    os.environ["OMP_NUM_THREADS"] = "1"
    notebook = nbformat.read(path, as_version=4)
    about = copy.deepcopy(notebook.metadata)
    with TemporaryDirectory() as folder:
        place = {"metadata": {"path": folder}}
        options = {"timeout": 600, "record_timing": False, "coalesce_streams": True}
        NotebookClient(notebook, resources=place, **options).execute()
    notebook.metadata = about
    return notebook


def outputs(notebook):
    """What each cell of code prints and shows, by kind: {"text": ..., "image/png": ...}."""
    shown = []
    for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
        kinds = (one.get("data", {"text": one.get("text")}) for one in cell.outputs)
        shown.append({kind: data for one in kinds for kind, data in one.items()})
    return shown


if __name__ == "__main__":
    for name in sys.argv[1:]:
        nbformat.write(executed(Path(name)), name)
