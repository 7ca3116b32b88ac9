"""Entry point. `--version`, and `__exec`, `__door`, `__picture` and `__parse` by which remit starts its own
helpers, the launcher of commands, what opens their way out, the decoder of pictures and the readers of source, are
answered before anything else is imported; so is `__settle`, the last step of the one-file program when it unpacks
itself."""

from __future__ import annotations

import os
import sys

SDK = "remit-sdk"


def hold_standard_streams() -> None:
    """Open /dev/null on each standard descriptor that is closed, so that no file of ours lands there."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            # Read-only for all three: a write to a stdout that was closed stays an error.
            os.open(os.devnull, os.O_RDONLY)


def _written(text: str) -> bool:
    """Whether stdout took a text. What went wrong is left to those who can tell it."""
    try:
        return os.write(1, text.encode()) == len(text)
    except OSError:
        return False


def main_sdk() -> None:
    """Run the command line of `remit-sdk` and exit with its code."""
    hold_standard_streams()
    from remit.commands.execute import leave
    from remit.commands.output import guard_standard_streams
    from remit.commands.sdk import run_sdk

    guard_standard_streams()
    leave(run_sdk(sys.argv[1:]))


def main() -> None:
    """Run the command line and exit with its code."""
    if os.path.basename(sys.argv[0]).partition(".")[0] == SDK:
        # One program under two names.
        main_sdk()
    hold_standard_streams()
    if sys.argv[1:2] == ["__exec"]:
        from remit.workspace.launcher import main as launch

        launch(sys.argv[2:])
    if sys.argv[1:2] == ["__door"]:
        from remit.workspace.launcher_door import main as step_inside

        step_inside(sys.argv[2:])
    if sys.argv[1:2] == ["__picture"]:
        from remit.workspace.picture_child import main as decode

        decode(sys.argv[2:])
        return
    if sys.argv[1:2] == ["__parse"]:
        from remit.code.worker import main as parse

        parse()
        return
    if sys.argv[1:2] == ["__settle"]:
        from remit.commands.settle import main as settle

        settle(*sys.argv[2:])
        return
    if sys.argv[1:] in (["--version"], ["-V"]):
        from remit import __version__

        if _written(f"remit {__version__}\n"):
            return
    import gc
    import signal

    # What starting makes stays; searching it for garbage as often as usual is a tenth of the time to start.
    gc.set_threshold(100_000, 10, 10)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until a run is there to be ended cleanly, an interrupt ends the process as it ends any other.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from remit.commands.entry import run_app
    from remit.commands.output import guard_standard_streams

    guard_standard_streams()
    sys.exit(run_app(sys.argv[1:]))


if __name__ == "__main__":
    main()
