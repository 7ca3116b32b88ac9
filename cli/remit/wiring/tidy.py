"""What killed runs have left on disk, removed by the next one."""

from __future__ import annotations

import os

from remit.store.leavings import Leaving, Leavings, sweep


def sweep_leavings(state_dir: str) -> None:
    """Remove temporary files and directories of runs that are dead."""
    sweep(state_dir, {"unfinished": _clear, "private": _remove, "artifacts": _clear_links})


def passing_directory(leavings: Leavings) -> str:
    """A directory of its own for a run of which nothing is to be left. Raises EnvironmentFault."""
    import tempfile

    from remit.store.durable import environment_fault

    try:
        path = os.path.realpath(tempfile.mkdtemp(prefix="remit-run-"))
    except OSError as problem:
        raise environment_fault(problem, tempfile.gettempdir(), "create a temporary directory") from problem
    leavings.note("private", path)
    return path


def remove_directory(path: str) -> None:
    """As far as that is possible."""
    import shutil

    shutil.rmtree(path, ignore_errors=True)


def _clear(leaving: Leaving) -> None:
    from remit.workspace.folders import clear_folder

    clear_folder(leaving.path)


def _clear_links(leaving: Leaving) -> None:
    from remit.store.durable import DIRECTORY
    from remit.store.left_files import clear_links

    directory = os.open(leaving.path, DIRECTORY | os.O_NOFOLLOW)
    try:
        for _ in clear_links(directory):
            continue
    finally:
        os.close(directory)


def _remove(leaving: Leaving) -> None:
    from remit.workspace.sandbox_git import GIT_NOTE, recover

    recover(os.path.join(leaving.path, GIT_NOTE))
    remove_directory(leaving.path)
