"""``python -m tatter_data`` is the program `tatter`, with the same arguments, exit codes and signals."""

import os
import signal
import subprocess
import sys

from tatter_data._find import find_tatter


def main() -> None:
    """Replaces this process with the program; on platforms where this is impossible, runs the program and waits for it."""
    program = find_tatter()
    words = [program, *sys.argv[1:]]
    if os.name != "nt":
        # Python ignores SIGPIPE, and the program would inherit that.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execv(program, words)
    try:
        sys.exit(subprocess.run(words).returncode)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
