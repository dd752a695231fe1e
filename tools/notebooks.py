"""Runs the notebooks of docs/notebooks; `python -m tools.notebooks [FILE…]` notes what each prints.

That is kept in tests/notebooks.json. The notebooks themselves are kept without outputs; `make docs` runs them for the
website, and a test runs them too and compares what they print with what is noted.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import nbformat
from nbclient import NotebookClient

ROOT: Final = Path(__file__).resolve().parents[1]
NOTEBOOKS: Final = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
SAID: Final = ROOT / "tests" / "notebooks.json"


def texts(notebook: Any) -> Iterator[str]:  # noqa: ANN401 - nbformat has no types
    """What the cells print and return; pictures and HTML aside."""
    for cell in notebook.cells:
        outputs = cell.get("outputs", [])
        # What is printed comes in one piece or several, as the machine is quick or slow.
        if printed := "".join(o.text for o in outputs if o.output_type == "stream" and o.name == "stdout"):
            yield printed
        for output in outputs:
            if output.output_type == "execute_result" and "image/png" not in output.data:
                yield output.data["text/plain"]


def executed(path: Path) -> Any:  # noqa: ANN401
    """The notebook with the outputs of a run now; its file is not changed."""
    run = nbformat.read(path, as_version=4)
    NotebookClient(run, timeout=300, kernel_name="python3", resources={"metadata": {"path": path.parent}}).execute()
    return run


def strip(path: Path) -> None:
    """Take the outputs out of a file."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, path)


def main(files: list[str]) -> int:
    """Run all, or those that are named."""
    said = json.loads(SAID.read_text(encoding="utf-8")) if SAID.exists() else {}
    for path in [Path(file) for file in files] or NOTEBOOKS:
        said[path.stem] = list(texts(executed(path)))
        strip(path)
        sys.stderr.write(f"{path.name}\n")
    kept = {path.stem: said[path.stem] for path in NOTEBOOKS if path.stem in said}
    SAID.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
