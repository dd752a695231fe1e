"""Configures a build without changing the source tree."""

import re
from pathlib import Path
from typing import Final

FRAGMENT: Final = Path(__file__).parent / "guest" / "um.config"
"""What is put on top of the architecture's own default configuration."""

SELFTESTS: Final = FRAGMENT.with_name("selftests.config")
"""What is put on top of that for the kernel's own tests."""

HZ: Final = 1000
"""Ticks a second unless the user says otherwise, as most distributions have it for desktops; TCP's timers see it."""

_ARCHITECTURE: Final = re.compile(
    r'^source "arch/\$\(?(?:SRCARCH|ARCH)\)?/Kconfig"|^source "init/Kconfig"', re.MULTILINE
)


def fragment(*, selftests: bool) -> str:
    """What is put on top of the architecture's default."""
    text = FRAGMENT.read_text(encoding="utf-8")
    # Of two lines about one option the later one counts.
    return text + SELFTESTS.read_text(encoding="utf-8") if selftests else text


def top(tree: Path, hz: int) -> str:
    """A top-level Kconfig that reads the tree's own files and says HZ before them.

    User-Mode Linux fixes HZ (100 in 6.12) and offers no choice. Of several defaults of one symbol the first counts, so
    one that stands before the architecture's decides. The build is shown this file by KBUILD_KCONFIG.
    """
    text = (tree / "Kconfig").read_text(encoding="utf-8")
    found = _ARCHITECTURE.search(text)
    if found is None:
        raise ValueError(f"{tree / 'Kconfig'}: expected a line that reads init/Kconfig or the architecture's")
    own = f"config HZ\n\tint\n\tdefault {hz}\n\n"
    return text[: found.start()] + own + text[found.start() :]
