"""`edgezoom` on the command line: `tiler convert`, which decodes in a sandbox."""

import os
import sys
import sysconfig
from pathlib import Path

from .options import pdfium


def main() -> None:
    """Runs the program of the extra `edgezoom[cli]` in place of this process."""
    tiler = Path(sysconfig.get_path("scripts"), "tiler")
    if not tiler.is_file():
        sys.exit("edgezoom: the program is missing; install edgezoom[cli]")
    own = {"EDGEZOOM_PDFIUM": pdfium(), "EDGEZOOM_VIEWER": str(Path(__file__).with_name("viewer"))}
    variables = {name: value for name, value in own.items() if value} | os.environ
    os.execve(tiler, ["tiler", "convert", *sys.argv[1:]], variables)


if __name__ == "__main__":
    main()
