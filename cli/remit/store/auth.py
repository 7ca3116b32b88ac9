"""`auth.toml`: the keys of providers, in a file that only its owner can read."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from remit.base.errors import EnvironmentFault, PreflightFault, UsageFault
from remit.base.lazy_pattern import lazy_pattern
from remit.store.durable import DIRECTORY, environment_fault, replace_file

FILE_NAME = "auth.toml"
LOCK_NAME = ".auth.toml.lock"
VERSION = 1
MAX_FILE_BYTES = 1024 * 1024

_HEAD = f"# Keys of model providers: remit auth set, list, remove\nversion = {VERSION}\n\n[keys]\n"


class AuthFile:
    """The file in a configuration directory. All may raise PreflightFault(auth_file) for a file or directory
    that others can reach, and for a file that is damaged, and EnvironmentFault."""

    def __init__(self, config_dir: str) -> None:
        self._directory = config_dir
        self.path = os.path.join(config_dir, FILE_NAME)

    def read(self) -> dict[str, str]:
        """The keys by provider; none where there is no file."""
        with _telling(self.path, "read the keys"):
            try:
                directory = os.open(self._directory, DIRECTORY)
            except (FileNotFoundError, NotADirectoryError):
                return {}
            try:
                return self._read(directory)
            finally:
                os.close(directory)

    def set(self, provider: str, key: str) -> None:
        """Store a key, and replace the one that there was. Raises UsageFault for a key of several lines."""
        if not key or "\n" in key or "\r" in key:
            raise UsageFault(f"the key of {provider} is not one line of text", kind="bad_key")
        with _telling(self.path, "write the keys"):
            os.makedirs(self._directory, mode=0o700, exist_ok=True)
        with self._locked() as directory:
            self._write(directory, self._read(directory) | {provider: key})

    def remove(self, provider: str) -> bool:
        """Forget a key; whether there was one."""
        if provider not in self.read():
            return False
        with self._locked() as directory:
            keys = self._read(directory)
            if keys.pop(provider, None) is None:
                return False
            self._write(directory, keys)
        return True

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """The directory, while no other process changes the file."""
        with _telling(self.path, "write the keys"):
            directory = os.open(self._directory, DIRECTORY)
            try:
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                lock = os.open(LOCK_NAME, flags, 0o600, dir_fd=directory)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    yield directory
                finally:
                    os.close(lock)
            finally:
                os.close(directory)

    def _read(self, directory: int) -> dict[str, str]:
        self._check_directory(os.fstat(directory))
        try:
            found = os.lstat(FILE_NAME, dir_fd=directory)
        except FileNotFoundError:
            return {}
        self._check_kind(found)
        descriptor = os.open(FILE_NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
        try:
            opened = os.fstat(descriptor)
            self._check_kind(opened)
            self._check_owner(opened)
            with open(descriptor, "rb", closefd=False) as file:
                return self._parse(file.read(MAX_FILE_BYTES + 1))
        finally:
            os.close(descriptor)

    def _check_directory(self, found: os.stat_result) -> None:
        if found.st_mode & stat.S_IWOTH:
            what = f"the directory of the auth file can be written by everybody (mode {_mode(found)})"
            raise PreflightFault(
                what, where=self._directory, hint=f"chmod o-w {_quoted(self._directory)}", kind="auth_file"
            )

    def _check_kind(self, found: os.stat_result) -> None:
        if stat.S_ISLNK(found.st_mode):
            raise self._fault("the auth file is a link", "put the file itself there")
        if not stat.S_ISREG(found.st_mode):
            raise self._fault("the auth file is not a regular file", "remove it, and run remit auth set PROVIDER")

    def _check_owner(self, found: os.stat_result) -> None:
        if found.st_uid != os.geteuid():
            what = f"the auth file belongs to the user {found.st_uid}, and remit runs as {os.geteuid()}"
            raise self._fault(what, f"chown {os.geteuid()} {_quoted(self.path)} && chmod 600 {_quoted(self.path)}")
        if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            what = f"the auth file can be reached by others (mode {_mode(found)}, allowed is 0600)"
            raise self._fault(what, f"chmod 600 {_quoted(self.path)}")

    def _parse(self, raw: bytes) -> dict[str, str]:
        """The keys in the text of the file. No message shows anything of it."""
        import tomli

        if len(raw) > MAX_FILE_BYTES:
            raise self._damaged(f"it is larger than {MAX_FILE_BYTES} bytes")
        try:
            data = tomli.loads(raw.decode())
        except UnicodeDecodeError:
            raise self._damaged("it is not UTF-8") from None
        except tomli.TOMLDecodeError as problem:
            raise self._damaged("it is not valid TOML", getattr(problem, "lineno", 0)) from None
        except (RecursionError, ValueError):
            raise self._damaged("it is not valid TOML") from None
        version, keys = data.get("version"), data.get("keys", {})
        if isinstance(version, int) and version > VERSION:
            what = f"the auth file has version {version}, newer than {VERSION}, the newest that is known here"
            raise self._fault(what, "a newer remit reads it")
        if version != VERSION or isinstance(version, bool):
            raise self._damaged(f"it has no `version = {VERSION}`")
        if data.keys() - {"version", "keys"} or not _is_table_of_text(keys):
            raise self._damaged('it holds something else than `[keys]` with lines of PROVIDER = "KEY"')
        return dict(keys)

    def _damaged(self, why: str, line: int = 0) -> PreflightFault:
        hint = "repair it, or move it away and run remit auth set PROVIDER"
        return self._fault(f"the auth file is damaged: {why}", hint, line)

    def _fault(self, what: str, hint: str, line: int = 0) -> PreflightFault:
        return PreflightFault(what, where=f"{self.path}:{line}" if line else self.path, hint=hint, kind="auth_file")

    def _write(self, directory: int, keys: dict[str, str]) -> None:
        lines = [f"{_spelled(provider, bare=True)} = {_spelled(key)}\n" for provider, key in sorted(keys.items())]
        replace_file(directory, FILE_NAME, "".join([_HEAD, *lines]).encode(), mode=0o600)


@contextmanager
def _telling(path: str, doing: str) -> Iterator[None]:
    """Turn an OSError inside of the block into the fault that names the file."""
    try:
        yield
    except OSError as problem:
        known = environment_fault(problem, path, doing)
        hint = "check owner, mode and free space of the directory"
        raise EnvironmentFault(known.what, where=path, hint=hint, kind=known.kind) from problem


def _quoted(path: str) -> str:
    import shlex

    return shlex.quote(path)


def _mode(found: os.stat_result) -> str:
    return f"{stat.S_IMODE(found.st_mode):04o}"


def _is_table_of_text(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) and each for each in value.values())


_BARE = lazy_pattern(r"[A-Za-z0-9_-]+")
_ESCAPED = lazy_pattern(r'[\x00-\x1f\x7f"\\]')


def _spelled(text: str, *, bare: bool = False) -> str:
    """A text as a TOML string. bare: as it stands, where a key of a table may."""
    if bare and _BARE.fullmatch(text):
        return text
    return '"' + _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + '"'
