"""A comparison as files: comparison.json, comparison.parquet, report.html, plots/."""

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mptcplab import files

if TYPE_CHECKING:
    from mptcplab.comparison.settings import Comparison

FILES: Final = ("comparison.json", "comparison.parquet", "report.html")
PLOTS: Final = "plots"
NAMES: Final = (*FILES, PLOTS)
_WORK: Final = "comparison."
_LEFT: Final = ".part"


def save(comparison: "Comparison", directory: Path, *, plots: bool = True) -> Path:
    """Write all of them, or without `plots` all others; comparison.json comes last."""
    from mptcplab.plots import write_print, write_static

    directory.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=_WORK, suffix=_LEFT, dir=directory))
    try:
        document = json.dumps(comparison.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        (work / FILES[0]).write_text(document + "\n", encoding="utf-8")
        files.write_parquet(comparison.frame, work / FILES[1])
        (work / FILES[2]).write_text(comparison.report(), encoding="utf-8")
        if plots:
            (work / PLOTS).mkdir()
            figures = comparison.figures()
            write_static(figures, work / PLOTS)
            write_print(figures, work / PLOTS)
        # The document is there when all of them are, and are of the same comparison.
        (directory / FILES[0]).unlink(missing_ok=True)
        shutil.rmtree(directory / PLOTS, ignore_errors=True)
        for made in sorted(work.iterdir(), key=lambda made: made.name == FILES[0]):
            made.rename(directory / made.name)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return directory
