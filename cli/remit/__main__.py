"""Entry point. `--version` is answered before anything else is imported."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from remit import __version__

        sys.stdout.write(f"remit {__version__}\n")
        return
    from remit.commands.app import run_app

    sys.exit(run_app(sys.argv[1:]))


if __name__ == "__main__":
    main()
