"""Source as the grammars of C and its relatives can read it: macros that hide the language's own words become blanks.

Parsers do not expand macros. Those that stand where no expression may stand (export marks, wrapped return types,
`extern "C" {` under a condition, markers of regions) make them lose the declarations around. What is blanked keeps its
length, so that all places stay as they are. So does what an object of Kotlin delegates to: the grammar takes the body
behind it for a block that is handed to a call. A group of Go that closes on the line of its last constant or variable
gets the semicolon that the grammar asks for there, in place of a blank; so do members of Kotlin.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

_MARK = rb"[A-Z][A-Z0-9_]{0,60}"
"""Words have an end in all patterns here: without one, a file that is a single word takes hours."""

_C: tuple[re.Pattern[bytes], ...] = (
    # extern "C" { and its } for C++ alone: their braces pair up across conditions.
    re.compile(
        rb'(^[ \t]*#[ \t]*if(?:def|[ \t]+defined[ (]*)[ \t(]*__cplusplus[ \t)]*\r?\n[ \t]*extern[ \t]*"C"[ \t]*\{)',
        re.MULTILINE,
    ),
    re.compile(rb"(?:^[ \t]*#[ \t]*if(?:def|[ \t]+defined[ (]*)[ \t(]*__cplusplus[^\n]*\n)([ \t]*\})", re.MULTILINE),
    # Comments at the end of a line of a macro, where something follows them.
    re.compile(rb"(?:^[ \t]*#[ \t]*define\b[^\n]{0,200}?[^\n/])(/\*[^\n]{0,200}?\*/)[ \t]+$", re.MULTILINE),
    re.compile(rb"(/\*[^\n]{0,200}?\*/)[ \t]*(?=\\\r?$)", re.MULTILINE),
    # Macros that stand for themselves, among the constants of an enumeration.
    re.compile(rb"^([ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+\2[ \t]*)$", re.MULTILINE),
    # G_BEGIN_DECLS, QT_END_NAMESPACE and the like alone on a line, as no last one of an enumeration is.
    re.compile(
        rb"(?:\A|(?<=[^,\\\s])\r?\n)\s*"
        rb"((?:[A-Z0-9_]{1,60}_(?:BEGIN|END)|_{0,2}(?:BEGIN|END)_)[A-Z0-9_]{0,60};?)[ \t]*\r?$",
        re.MULTILINE,
    ),
    # What stands between the parameters of a function and its body or end.
    re.compile(
        rb"\)(?:[ \t]*const)?((?:[ \t]+(?:__THROW(?:NL)?|__wur|__attribute_\w{1,40}__"
        rb"|\w{0,40}(?:NOEXCEPT|NOTHROW)\w{0,40}|__nonnull[ \t]*\(\([^()\n]*\)\)))+)(?=\s*(?:[;{=]|override|final))"
    ),
    # Marks of kernels.
    re.compile(rb"(?<=\s)(__(?:bitwise|user|iomem|force|rcu))(?=\s)"),
    # What stands for the first fields of a struct.
    re.compile(rb"^[ \t]*(PyObject_(?:VAR_)?HEAD)[ \t;]*$", re.MULTILINE),
    re.compile(rb"\b(_Atomic[ \t]*\()[^()\n]*(\))"),
    # PyAPI_FUNC(int) name(...), EXPORT(int) name(...)
    re.compile(
        rb"^[ \t]*(?:extern[ \t]+)?(\w{0,40}?(?:API|EXPORT|EXTERN|DECL)\w{0,40}\()[^()\n]*(\))[ \t]*(?=[\w*])",
        re.MULTILINE,
    ),
    # typedef void (APIENTRYP name)(...), int WINAPI name(...)
    re.compile(
        rb"\b(\w{0,40}?APIENTRY\w{0,40}|WINAPI|CALLBACK|[A-Z0-9_]{0,40}?(?:CALL|CDECL)[A-Z0-9_]{0,40})[ \t]+"
        rb"(?=\*?[ \t]*\w+[ \t]*[()])"
    ),
    # LIB_API int name(...), LIB_EXPORT void name(...)
    re.compile(
        rb"^[ \t]*(?:extern[ \t]+|static[ \t]+)?("
        + _MARK
        + rb"(?:API|EXPORT|EXTERN|PUBLIC|INLINE))[ \t]+(?=\w+[ \t*]+\w)",
        re.MULTILINE,
    ),
)
_CPP: tuple[re.Pattern[bytes], ...] = (
    *_C,
    # namespace name LIB_VISIBILITY(default) {
    re.compile(rb"\bnamespace[ \t]+\w+[ \t]+([A-Z_]\w*\([^()\n]*\))"),
    # What tools of frameworks read in classes.
    re.compile(
        rb"^[ \t]*((?:Q_(?:OBJECT|GADGET|NAMESPACE)|signals[ \t]*:|Q_SIGNALS[ \t]*:"
        rb"|(?:Q_(?:PROPERTY|ENUM|FLAG|CLASSINFO|INTERFACES|DISABLE_COPY|DECLARE)\w*"
        rb"|UPROPERTY|UFUNCTION|UCLASS|USTRUCT|UENUM|GENERATED_\w{0,20}BODY)"
        rb"[ \t]*\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)))[ \t]*\r?$",
        re.MULTILINE,
    ),
    re.compile(rb"\b(?:public|private|protected)[ \t]+(slots|Q_SLOTS)(?=[ \t]*:)"),
    # class LIB_API Name : Base {
    re.compile(
        rb"\b(?:class|struct|union)[ \t]+(" + _MARK + rb"(?:\([^()\n]*\))?)[ \t]+(?=[A-Za-z_]\w*\s*(?:final\s*)?[:{])"
    ),
)
_OBJC: tuple[re.Pattern[bytes], ...] = (
    *_C,
    re.compile(rb"\b(NS_ASSUME_NONNULL_(?:BEGIN|END)|NS_HEADER_AUDIT_(?:BEGIN|END)\([^()\n]*\))"),
    re.compile(
        rb"\b(NS_DESIGNATED_INITIALIZER|NS_UNAVAILABLE|NS_REQUIRES_SUPER|NS_SWIFT_(?:NAME|UNAVAILABLE)\([^()\n]*\)"
        rb"|(?:API|NS|UI|CF)_(?:UN)?(?:AVAILABLE|DEPRECATED)\w*\((?:[^()\n]|\([^()\n]*\))*\)|UI_APPEARANCE_SELECTOR)"
    ),
    re.compile(rb"^[ \t]*((?:FOUNDATION|UIKIT|APPKIT|CF|NS)_(?:EXPORT|EXTERN)\b)", re.MULTILINE),
)
_ENUMERATION = re.compile(rb"\btypedef\s+(?:NS|CF)_(?:CLOSED_|ERROR_)?(?:ENUM|OPTIONS)\s*\(\s*[\w ]+,\s*(\w+)\s*\)")

_DELEGATE = re.compile(
    rb"^([^\n]{0,400}?)([ \t]by[ \t]+[\w.]{1,100}(?:\([^()\n]{0,200}\))?)(?=[ \t]*\{[ \t]*\r?$)", re.MULTILINE
)
_PROPERTY = re.compile(rb"\b(?:val|var)[ \t]+[\w.`<>]{1,200}[ \t]*(?::[^,()]*)?$")

_GROUP = re.compile(
    rb"((?:^|[{;])[ \t]*(?:const|var)[ \t]*\()"
    rb"((?:[^()\"'`/]|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`[^`]*`|/(?![/*])|\([^()\n]*\))*)"
    rb"(?<=[^\s;])([ \t]*)\)",
    re.MULTILINE,
)

_LAST = re.compile(
    rb"(\"{3}(?s:.*?)(?:\"{3}|\Z)|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)+'|//[^\n]*|/\*(?s:.*?)(?:\*/|\Z))"
    rb"|(?<=[^\s{;,])(?<!->)[ \t](?=[ \t]*\})"
)
"""A blank before what closes braces, behind something; strings and comments as a whole."""

_WORDS: dict[re.Pattern[bytes], tuple[bytes, ...]] = dict(
    zip(
        _C,
        (
            (b"__cplusplus",),
            (b"__cplusplus",),
            (b"*/ ", b"*/\t"),
            (b"\\\n", b"\\\r"),
            (b"define",),
            (b"BEGIN", b"END"),
            (b"__THROW", b"__wur", b"__attribute_", b"NOEXCEPT", b"NOTHROW", b"__nonnull"),
            (b"__bitwise", b"__user", b"__iomem", b"__force", b"__rcu"),
            (b"PyObject_",),
            (b"_Atomic",),
            (b"API", b"EXPORT", b"EXTERN", b"DECL"),
            (b"APIENTRY", b"WINAPI", b"CALL", b"CDECL"),
            (b"API", b"EXPORT", b"EXTERN", b"PUBLIC", b"INLINE"),
        ),
        strict=True,
    )
)
"""What has to stand in a source where a pattern matches, one of them: looked for in a hundredth of the time."""

_SMALL = bytes(range(ord("a"), ord("z") + 1))
_BY_LANGUAGE: dict[str, Sequence[re.Pattern[bytes]]] = {"C": _C, "C++": _CPP, "CUDA": _CPP, "Objective-C": _OBJC}


def without_macros(language: str, source: bytes) -> bytes:
    """The source of that language for its parser, as long as before."""
    if language == "Go":
        return _GROUP.sub(_ended, source) if b"const" in source or b"var" in source else source
    if language == "Kotlin":
        return _LAST.sub(_closed, _DELEGATE.sub(_without_delegate, source))
    patterns = _BY_LANGUAGE.get(language)
    if patterns is None:
        return source
    # In what is left without small letters words without some are found sooner.
    capitals = source.translate(None, _SMALL)
    stands = cache(lambda word: word in (capitals if word.isupper() else source))
    for pattern in patterns:
        words = _WORDS.get(pattern)
        if words is None or any(map(stands, words)):
            source = pattern.sub(_blanked, source)
    return _ENUMERATION.sub(_plain_enumeration, source) if language == "Objective-C" else source


def _blanked(match: re.Match[bytes]) -> bytes:
    text, offset = bytearray(match[0]), match.start()
    for group in range(1, len(match.groups()) + 1):
        start, end = match.start(group) - offset, match.end(group) - offset
        text[start:end] = re.sub(rb"[^\n]", b" ", text[start:end])
    return bytes(text)


def _ended(match: re.Match[bytes]) -> bytes:
    """With a semicolon behind the last in place of one blank: of one before the bracket that closes, else of the one
    before the bracket that opens."""
    head, body, gap = match.groups()
    if gap:
        return head + body + b";" + gap[1:] + b")"
    return head[:-2] + b"(" + body + b";)" if head.endswith(b" (") else match[0]


def _closed(match: re.Match[bytes]) -> bytes:
    return match[1] or b";"


def _without_delegate(match: re.Match[bytes]) -> bytes:
    if _PROPERTY.search(match[1]):
        return match[0]
    return match[1] + b" " * len(match[2])


def _plain_enumeration(match: re.Match[bytes]) -> bytes:
    """`typedef NS_ENUM(Type, Name)` as `enum Name`."""
    start, end = match.start(1) - match.start(), match.end(1) - match.start()
    before = b"enum" + re.sub(rb"[^\n]", b" ", match[0][4:start])
    return before + match[1] + re.sub(rb"[^\n]", b" ", match[0][end:])
