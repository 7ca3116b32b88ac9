"""Patterns of rules: paths, URLs, hosts, names and commands, compiled once and matched in linear time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

import msgspec

from remit.base.errors import Failure
from remit.base.lazy_pattern import lazy_pattern
from remit.base.text import shorten
from remit.policy.programs import GUARDED_OPTIONS, LEADING_OPTIONS
from remit.policy.shell import View, program, split_words


class BadPattern(ValueError):
    """The pattern cannot be used; the text says what was seen and what to write."""


class Place(msgspec.Struct, frozen=True):
    """Where relative and `~/` patterns begin. Each is absolute; several are spellings of one place."""

    workspaces: tuple[str, ...]
    homes: tuple[str, ...]

    @classmethod
    def of(cls, workspace: str, home: str) -> Place:
        """The place by its given and its real spelling."""
        return cls(_spellings(workspace), _spellings(home))

    def absolute(self, name: str) -> tuple[str, ...]:
        """Every absolute spelling of a resource's name; the root directory is ""."""
        if name.startswith("/"):
            return (name.rstrip("/"),)
        if name in (".", ""):
            return self.workspaces
        return tuple([f"{root}/{name}" for root in self.workspaces])


def _spellings(path: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(spelled.rstrip("/") for spelled in (path, os.path.realpath(path))))


# -- globs -------------------------------------------------------------------------------------

_SPECIAL = frozenset("*?[")


def is_literal(text: str) -> bool:
    """Whether a pattern names one thing only."""
    return not _SPECIAL & set(text)


def glob_regex(text: str, any_char: str = "[^/]") -> str:
    """One glob as a regular expression. `any_char`: what a wildcard stands for."""
    runs: list[list[str]] = [[]]
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "*":
            if runs[-1] or len(runs) == 1:
                runs.append([])
        elif char == "?":
            runs[-1].append(any_char)
        elif char == "[":
            piece, at = _char_class(text, at, any_char)
            runs[-1].append(piece)
        else:
            runs[-1].append(re.escape(char))
    first, *rest = ["".join(run) for run in runs]
    if not rest:
        return first
    # Each run at its first place is as good as any later one, so no step is ever taken back.
    middle = "".join(f"(?>{any_char}*?{run})" for run in rest[:-1])
    return f"{first}{middle}{any_char}*{rest[-1]}"


def _char_class(text: str, at: int, any_char: str) -> tuple[str, int]:
    start = at + 1 if text[at : at + 1] in ("!", "^") else at
    end = text.find("]", start + 1)
    if end < 0:
        raise BadPattern("a `[` is not closed; write [[] for the character itself")
    content = text[start:end]
    if "/" in content:
        raise BadPattern("a `[...]` holds a slash")
    ranges = re.sub(r"([\\\[\]^&~|])", r"\\\1", content)
    negated = "^" if start > at else ""
    guard = "(?!/)" if any_char == "[^/]" else ""
    piece = f"{guard}[{negated}{ranges.replace('--', '-' + chr(92) + '-')}]"
    try:
        re.compile(piece)
    except re.error:
        raise BadPattern(f"[{text[at:end]}] is no range of characters") from None
    return piece, end + 1


def _outside_classes(text: str) -> str:
    """A glob without its `[...]`."""
    return re.sub(r"\[[^\]]*\]", "", text)


def _refuse_braces(text: str, instead: str) -> None:
    """What looks like a choice would match next to nothing. Raises BadPattern."""
    if "{" in text or "}" in text:
        raise BadPattern(f"braces are not expanded; write one rule for each, and {instead} for the character itself")


class TextPattern(msgspec.Struct, frozen=True):
    """A whole text, `*` and `?` standing for any characters."""

    text: str
    regex: re.Pattern[str]

    @classmethod
    def compile(cls, text: str) -> TextPattern:
        """Raises BadPattern."""
        if not text:
            raise BadPattern("it is empty")
        _refuse_braces(_outside_classes(text), "[{]")
        return cls(text, re.compile(glob_regex(text, "."), re.DOTALL))

    def matches(self, text: str) -> bool:
        return self.regex.fullmatch(text) is not None


class PathPattern(msgspec.Struct, frozen=True):
    """Paths, component by component. literal: it names one path and no more. starts: how, spelled absolute, all
    paths begin that fit."""

    text: str
    regex: re.Pattern[str]
    literal: bool
    starts: tuple[str, ...]

    @classmethod
    def compile(cls, text: str, place: Place, *, follow: bool) -> PathPattern:
        """`text` is relative to the workspace, absolute, or begins with `~/`. follow: also match what
        lies behind links in its own fixed beginning, which only ever widens it. Raises BadPattern."""
        bases, parts = _anchor(text, place)
        fixed = 0
        while fixed < len(parts) and is_literal(parts[fixed]):
            fixed += 1
        starts = ["".join([base, *(f"/{part}" for part in parts[:fixed])]) for base in bases]
        if follow:
            starts += [os.path.realpath(start).rstrip("/") if start else "" for start in starts]
        starts = list(dict.fromkeys(starts))
        anchored = "|".join(re.escape(start) for start in starts)
        regex = lazy_pattern(f"(?:{anchored}){_components(parts[fixed:])}", re.DOTALL)
        return cls(text, regex, is_literal(text), tuple(starts))

    def matches(self, paths: Sequence[str]) -> bool:
        """Whether any of these absolute spellings fits."""
        return any(self.regex.fullmatch(path) for path in paths)


def _anchor(text: str, place: Place) -> tuple[tuple[str, ...], list[str]]:
    """The directories a path pattern begins at, and its components from there."""
    if not text:
        raise BadPattern("it is empty")
    outside = _outside_classes(text)
    if "\\" in outside:
        raise BadPattern("it holds a backslash; write / between components and [*] for a plain `*`")
    _refuse_braces(outside, "[{]")
    bases: tuple[str, ...] = place.workspaces
    rest = text
    if text.startswith("/"):
        bases, rest = ("",), text[1:]
    elif text == "~" or text.startswith("~/"):
        bases, rest = place.homes, text[2:]
    elif text.startswith("~"):
        raise BadPattern("only `~/` is expanded; write the absolute path")
    rest = rest.removeprefix("./")
    parts = [] if rest in ("", ".") else rest.split("/")
    if "" in parts:
        raise BadPattern("it has an empty component; `dir/**` names a directory and all below it")
    if "." in parts or ".." in parts:
        raise BadPattern("it holds `.` or `..`; a relative pattern lies in the workspace, else write an absolute one")
    if any("**" in part and part != "**" for part in parts):
        raise BadPattern("`**` stands alone between slashes")
    return bases, parts


def _components(parts: Sequence[str], any_part: str = "/[^/]+") -> str:
    """Components as a regular expression over `/a/b`; `**` is any number of them."""
    groups: list[str] = [""]
    for part in parts:
        if part == "**":
            groups.append("")
        else:
            groups[-1] += "/" + glob_regex(part)
    first, *rest = groups
    if not rest:
        return first
    # As in one component: the first place a group fits is as good as any later one.
    middle = "".join(f"(?>(?:{any_part})*?{group}(?=/|\\Z))" for group in rest[:-1] if group)
    return f"{first}{middle}(?:{any_part})*{rest[-1]}"


# -- hosts and URLs ----------------------------------------------------------------------------

_URL = lazy_pattern(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL)
_AUTHORITY = lazy_pattern(r"(?:(?P<user>[^@]*)@)?(?P<host>\[[^\[\]]*\]|[^:@\[\]*]+)(?::(?P<port>[0-9]*))?")
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ESCAPED = lazy_pattern(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~!$&'()*+,;=:@/?-]")


class Url(msgspec.Struct, frozen=True):
    """A URL in the one form that equal URLs share. origin: scheme, user, host and port. query: with its `?`."""

    origin: str
    host: str
    path: str
    query: str

    def __str__(self) -> str:
        return self.origin + self.path + self.query


def canonical_host(text: str) -> str:
    """A host as the network part of remit writes it. Raises ValueError."""
    from remit.net.guard import normal_host

    try:
        return normal_host(text)
    except Failure as problem:
        raise ValueError(problem.message) from None


def canonical_url(text: str) -> Url:
    """Raises ValueError for what is no URL, or one that programs read differently."""
    if any(char.isspace() or not char.isprintable() or char == "\\" for char in text):
        raise ValueError("a URL holds no blanks, control characters or backslashes")
    match = _URL.fullmatch(text)
    if match is None:
        raise ValueError("a URL begins with a scheme such as https://")
    scheme, authority, path, query = match[1].lower(), match[2], match[3], match[4]
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise ValueError(f"{shorten(authority)} names no host")
    host = canonical_host(parts["host"])
    user = f"{parts['user']}@" if parts["user"] is not None else ""
    given = parts["port"]
    port = f":{given}" if given and given != _DEFAULT_PORTS.get(scheme) else ""
    shown = "" if query is None else "?" + _ESCAPED.sub(_settle, query)
    plain = _without_dots(_ESCAPED.sub(_settle, path))
    return Url(f"{scheme}://{user}{f'[{host}]' if ':' in host else host}{port}", host, plain, shown)


def _settle(found: re.Match[str]) -> str:
    """Escapes where they are due and nowhere else, in upper case."""
    text = found[0]
    if len(text) != 3:
        return "".join(f"%{byte:02X}" for byte in text.encode())
    char = chr(int(text[1:], 16))
    return char if char in _UNRESERVED else text.upper()


def _without_dots(path: str) -> str:
    kept: list[str] = []
    parts = path.split("/")[1:]
    for part in parts:
        if part == "..":
            del kept[-1:]
        elif part != ".":
            kept.append(part)
    if parts and parts[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


# Escapes of ASCII, and the overlong two-byte forms of it that some programs still read.
_HIDDEN_ASCII = lazy_pattern(r"%C([01])%([89AB][0-9A-F])|%([0-7][0-9A-F])", re.IGNORECASE)
_PARAMETERS = lazy_pattern(r";[^/]*")
_MAX_ROUNDS = 8


def _bared(found: re.Match[str]) -> str:
    return chr(int(found[3], 16)) if found[3] else chr((int(found[1]) << 6) | (int(found[2], 16) & 0x3F))


def _readings(path: str, start: int = 0) -> list[str]:
    """A canonical path as programs read it that undo its escapes once, twice and so on, first as it is.
    What stands before `start` is left as it is. Raises ValueError when there is no end of it."""
    read = [path]
    for _ in range(_MAX_ROUNDS):
        bare = _HIDDEN_ASCII.sub(_bared, read[-1][start:])
        following = read[-1][:start] + _ESCAPED.sub(_settle, bare.replace("\\", "/"))
        if following == read[-1]:
            return read
        read.append(following)
    raise ValueError("its path is escaped too many times over")


def _every_path(path: str) -> Iterator[str]:
    """The paths that programs may take a canonical path for."""
    for reading in _readings(path):
        yield reading
        for shown in (reading, _PARAMETERS.sub("", reading)):
            yield _without_dots(shown)
            yield _without_dots(re.sub("//+", "/", shown))


# What stands behind one of these some programs leave off the name.
_NAME_ENDS = lazy_pattern(r"[;?]|%[012]")


def _leads_away(path: str, start: int) -> bool:
    """Whether some program may see a separator or a `..` in the components from `start`, where others
    see none."""
    try:
        last = _readings(path, start)[-1]
    except ValueError:
        return True
    names = last[start:].split("/")
    return len(names) != path[start:].count("/") + 1 or any(_NAME_ENDS.split(n)[0] in (".", "..") for n in names)


class HostPattern(msgspec.Struct, frozen=True):
    """A host and its subdomains; written as `*.host`, the subdomains only."""

    host: str
    below_only: bool = False

    @classmethod
    def compile(cls, text: str) -> HostPattern:
        """Raises BadPattern."""
        name = text.removeprefix("*.")
        if "*" in name or not name:
            raise BadPattern("a host takes no wildcard; `example.org` covers its subdomains too")
        if "/" in name:
            raise BadPattern("a host has no scheme or path; write `example.org`, or use `url`")
        try:
            return cls(canonical_host(name), name != text)
        except ValueError as problem:
            raise BadPattern(str(problem)) from None

    @property
    def text(self) -> str:
        """As it is written."""
        return f"*.{self.host}" if self.below_only else self.host

    @property
    def sample(self) -> str:
        """A host that it covers, with a port."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'a.' if self.below_only else ''}{name}:443"

    def covers(self, host: str) -> bool:
        """Whether a canonical host is this one or below it."""
        return (host == self.host and not self.below_only) or host.endswith(f".{self.host}")


class UrlPattern(msgspec.Struct, frozen=True):
    """One URL, or with `*` and `**` in the path as in path patterns; a `*` in the query is anything.
    A pattern whose path ends in a wildcard covers every query. fixed: how many characters of the path
    stand before its first component with a wildcard, -1 where there is none."""

    text: str
    origin: str
    host: str
    fixed: int
    path: re.Pattern[str]
    query: re.Pattern[str]

    @classmethod
    def compile(cls, text: str) -> UrlPattern:
        """Raises BadPattern."""
        try:
            url = canonical_url(text)
        except ValueError as problem:
            raise BadPattern(f"{problem}; wildcards go into the path, `host` covers subdomains") from None
        _refuse_braces(text, "%7B")
        parts = url.path.split("/")[1:]
        if any("**" in part and part != "**" for part in parts):
            raise BadPattern("`**` stands alone between slashes")
        # In a URL `?` and `[` stand for themselves.
        path = _components([part.replace("[", "[[]") for part in parts], "/[^/]*")
        query = url.query.replace("[", "[[]").replace("?", "[?]")
        if not query and parts[-1].endswith("*"):
            query = "*"
        regexes = re.compile(path), re.compile(glob_regex(query, "."), re.DOTALL)
        star = url.path.find("*")
        return cls(str(url), url.origin, url.host, star if star < 0 else url.path.rfind("/", 0, star) + 1, *regexes)

    def grants(self, url: Url) -> bool:
        """Whether the URL is certainly one of these. A wildcard does not stand for an escaped slash or
        `..`, which some servers undo and then follow out of what the pattern names."""
        return (
            self._meets(url)
            and self.path.fullmatch(url.path) is not None
            and not (self.fixed >= 0 and _leads_away(url.path, self.fixed))
        )

    def hits(self, url: Url) -> bool:
        """Whether the URL is one of these, or some server may take it for one. Raises ValueError when
        that cannot be told."""
        return self._meets(url) and any(self.path.fullmatch(path) for path in _every_path(url.path))

    def _meets(self, url: Url) -> bool:
        return url.origin == self.origin and self.query.fullmatch(url.query) is not None


# -- commands ----------------------------------------------------------------------------------


class CommandPattern(msgspec.Struct, frozen=True):
    """Words of a command. plain: as they are written; wild: which hold a wildcard. open_end: any further
    arguments, or none."""

    text: str
    words: tuple[re.Pattern[str], ...]
    plain: tuple[str, ...]
    wild: tuple[bool, ...]
    open_end: bool

    @property
    def relative(self) -> bool:
        """Whether it names a file by a path that is relative."""
        return any("/" in word and "://" not in word and not word.startswith(("/", "~")) for word in self.plain)

    @classmethod
    def compile(cls, text: str) -> CommandPattern:
        """Raises BadPattern."""
        try:
            words = split_words(text)
        except ValueError as problem:
            raise BadPattern(f"a command pattern is one simple command, but {problem}") from None
        open_end = words[-1].text == "*" and not words[-1].known
        if any(not word.known and not word.bare for word in words):
            raise BadPattern("one word holds both quotes and a wildcard")
        kept = words[:-1] if open_end else words
        regexes = [re.compile(re.escape(w.text) if w.known else glob_regex(w.text, "."), re.DOTALL) for w in kept]
        wild = tuple(not word.known for word in kept)
        return cls(text, tuple(regexes), tuple(word.text for word in kept), wild, open_end)

    @property
    def anything(self) -> bool:
        """Whether it is `*`, any command at all."""
        return self.open_end and not self.words

    def grants(self, argv: Sequence[str]) -> bool:
        """Whether a command is this one, word for word. A word with a wildcard does not stretch over `..`,
        which would lead out of what it names, and nothing left open stands for an option that makes
        the command write or run something else."""
        if len(argv) < len(self.words) or (len(argv) > len(self.words) and not self.open_end):
            return False
        for regex, wild, word in zip(self.words, self.wild, argv, strict=False):
            if regex.fullmatch(word) is None:
                return False
            if wild and regex.pattern != ".*" and ".." in re.split(r"[/=:,]", word):
                return False
        return self.anything or not any(self._is_open(place) for place in _guarded(argv))

    def _is_open(self, place: int) -> bool:
        return place >= len(self.words) or self.wild[place]

    def hits(self, view: View) -> bool:
        """Whether a command of a line is this one, or may be. The program counts by its base name."""
        by_path = bool(self.plain) and "/" in self.plain[0]
        for place, regex in enumerate(self.words):
            if place >= len(view):
                return False
            word = view[place]
            if not word.known:
                return True
            text = program(word) if place == 0 and not by_path else word.text
            if regex.fullmatch(text) is None:
                return False
        return self.open_end or len(view) == len(self.words) or not view[len(self.words)].known


def _guarded(argv: Sequence[str]) -> Iterator[int]:
    """Where in a command stand options that make it another command."""
    leading = LEADING_OPTIONS.get(argv[0], frozenset()) if argv else frozenset()
    for place in range(1, len(argv)):
        if not argv[place].startswith("-"):
            break
        if any(_is_option(argv[place], option) for option in leading):
            yield place
    options = GUARDED_OPTIONS.get(" ".join(argv[:1]), frozenset()) | GUARDED_OPTIONS.get(
        " ".join(argv[:2]), frozenset()
    )
    for place, word in enumerate(argv):
        if place and any(_is_option(word, option) for option in options):
            yield place


def _is_option(word: str, option: str) -> bool:
    """Whether a word is an option, also shortened, with its value, or among other letters."""
    if option.startswith("--"):
        name = word.partition("=")[0]
        return len(name) > 3 and option.startswith(name)
    if len(option) == 2 and option.startswith("-"):
        return word.startswith("-") and not word.startswith("--") and option[1] in word[1:]
    return word.partition("=")[0].lstrip("-") == option.lstrip("-") and word[:1] == option[:1]
