"""Words: those that names are made of, and those of a task told in prose."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_TOKEN = re.compile(r"`([^`\n]{1,200})`|[\w$]+(?:(?:\.|::|->|#|/)[\w$]+)*(?:\(\))?")
_IDENTIFIER = re.compile(r"[a-z0-9][A-Z]|\w_\w|::|->|#|\(\)$|\w\.\w|^_+\w|[A-Z]{2,}[a-z]")
_NAME = re.compile(r"[\w$]+")

_STOP_WORDS = frozenset(
    """
    a able about above add added adding after again all allow also always an and any are as at be because been before
    being below between both but by call called calls can cannot change changed changes class code could current
    currently did do does doing don done each either else every few file files find first fix fixed for from function
    functions further get give given gives go had has have having he her here his how however i if implement in
    instead into is it its itself just keep let like line lines look make makes making may me method methods might
    more most must my need needs new no nor not now of off on once one only or other others our out over own per
    please put refactor remove rename same see set should show so some still such support sure than that the their
    them then there these they this those through to too two under until up update upon us use used user uses using
    very want was way we well were what when where whether which while who why will with within without work works
    would write yes yet you your
    """.split()  # noqa: SIM905
)
"""Words that are said of any change, of code in general, or of nothing."""

_ENDINGS = (("ies", "y"), ("ing", ""), ("ers", "er"), ("ed", ""), ("es", ""), ("s", ""))


class Query(msgspec.Struct, frozen=True):
    """What a task says. identifiers: names as spelled. words: stems of its prose and of what its names are made of.
    spelled: single words as written, that may be names too. tests: whether it is about tests."""

    identifiers: tuple[str, ...]
    words: tuple[str, ...]
    spelled: tuple[str, ...]
    tests: bool = False


def parts_of(name: str) -> list[str]:
    """The words that a name is made of, lower case: `HTTPServer_v2` is http, server, v, 2."""
    return [part.lower() for part in _PARTS.findall(name)]


@lru_cache(maxsize=1 << 16)
def stems_of(name: str) -> tuple[str, ...]:
    """The stems of the words of a name; what is too short to tell anything is left out."""
    return tuple(dict.fromkeys(stem(part) for part in parts_of(name) if len(part) > 1))


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A word without the endings of English that change its form and not its meaning."""
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            bare = word[: -len(ending)] + instead
            if ending in ("ing", "ed") and len(bare) > 3 and bare[-1] == bare[-2] and bare[-1] not in "ls":
                bare = bare[:-1]
            return bare.removesuffix("e") if len(bare) > 4 else bare
    return word.removesuffix("e") if len(word) > 4 else word


def read_query(task: str) -> Query:
    identifiers: dict[str, None] = {}
    words: dict[str, None] = {}
    spelled: dict[str, None] = {}
    for match in _TOKEN.finditer(task):
        token = match[1] or match[0]
        if match[1] is not None or _IDENTIFIER.search(token):
            identifiers[token.strip().removesuffix("()")] = None
            words.update(dict.fromkeys(stem(part) for part in parts_of(token) if _tells(part)))
        else:
            for word in _NAME.findall(token):
                if _tells(word.lower()):
                    spelled[word] = None
                    words.update(dict.fromkeys(stem(part) for part in parts_of(word) if _tells(part)))
    about_tests = any(stem(part) == "test" for part in parts_of(task))
    return Query(tuple(identifiers), tuple(words), tuple(spelled), about_tests)


def words_of(prose: str) -> set[str]:
    """The stems of a line of documentation."""
    return {stem(part) for part in parts_of(prose) if _tells(part)}


def _tells(word: str) -> bool:
    return len(word) > 2 and word not in _STOP_WORDS and not word.isdigit()
