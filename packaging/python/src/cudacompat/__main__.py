"""``python -m cudacompat``: the program, judging the environment of this interpreter."""

import os
import subprocess
import sys

from cudacompat import Error, binary


def main() -> int:
    """Run the program in the place of this process, as if the interpreter's environment were active."""
    environ = dict(os.environ)
    if sys.prefix != sys.base_prefix:
        environ["VIRTUAL_ENV"] = sys.prefix
    try:
        command = [binary(), *sys.argv[1:]]
        if os.name == "nt":  # there a replaced process ends at once for who waits for it
            return subprocess.run(command, env=environ, check=False).returncode
        os.execve(command[0], command, environ)
    except (Error, OSError) as err:
        print(err, file=sys.stderr)
        return 70


if __name__ == "__main__":
    sys.exit(main())
