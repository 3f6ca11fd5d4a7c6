"""``python -m tatter_data`` is the program `tatter`: the same words, exit codes and signals."""

import os
import signal
import subprocess
import sys

from tatter_data._find import find_tatter


def main() -> None:
    """Becomes the program; where a process cannot, waits for it."""
    program = find_tatter()
    words = [program, *sys.argv[1:]]
    if os.name != "nt":
        # Python ignores broken pipes, and what is ignored stays so in the program.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execv(program, words)
    try:
        sys.exit(subprocess.run(words).returncode)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
