"""Looks at the page of `mptcplab lab` in Debian's Chromium.

python -m tools.lab pictures   the pictures of docs/images, but for that of the advice
python -m tools.lab latency    from the change of a slider to the picture: median and p95 of 50 changes
python -m tools.lab soak [MINUTES]  ten open pages for ten minutes: errors and memory
"""

import sys

from tools.lab import latency, pictures, soak
from tools.lab.browser import CHROMIUM


def main(arguments: list[str]) -> int:
    """Exit status: 0 done, 2 arguments that make no sense, 3 no browser."""
    minutes = 10.0
    if arguments[:1] == ["soak"] and len(arguments) == 2 and arguments[1].replace(".", "", 1).isdecimal():
        minutes = float(arguments.pop())
    if arguments not in (["pictures"], ["latency"], ["soak"]):
        sys.stderr.write(f"{__doc__}\n")
        return 2
    if CHROMIUM is None:
        sys.stderr.write("there is no Chromium (Debian: apt-get install chromium)\n")
        return 3
    if arguments == ["pictures"]:
        for file in pictures.take():
            sys.stdout.write(f"{file}\n")
        return 0
    if arguments == ["soak"]:
        for name, value in soak.soak(minutes).items():
            sys.stdout.write(f"{name}: {value:g}\n")
        return 0
    found = latency.measure()
    sys.stdout.write(
        f"lab: 30 s over two paths of 20 Mbit/s, from change to picture: median {found['median_ms']} ms, "
        f"p95 {found['p95_ms']} ms over {found['changes']:.0f} changes\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
