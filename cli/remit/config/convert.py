"""Plain values to typed ones, with every fault of them at once.

msgspec converts, strictly, and has the last word; it stops at its first complaint, so what it refuses
is walked field by field and entry by entry to tell all that is wrong.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from remit.base.errors import Fault
from remit.base.text import shorten
from remit.config.document import Document, Keys, did_you_mean, spell

T = TypeVar("T")

_NAMES: dict[Any, str] = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    bytes: "a base64 string",
    date: "a date such as 2026-12-31",
    datetime: "a date and time such as 2026-12-31T00:00:00Z",
}
_ABSENT = (type(None), msgspec.UnsetType)
_SWITCH_WORDS = frozenset({"yes", "no", "on", "off", "y", "n"})


def convert(document: Document, type_: type[T] | Any, at: Keys = ()) -> tuple[T | None, list[Fault]]:
    """The value at that place as `type_`, or None and every fault found in it.

    A place that does not exist is a fault. `type_` may be any type msgspec converts to."""
    found, value = _dig(document.data, at)
    if not found:
        return None, [Fault(f"`{spell(at)}` is missing", document.where(*at))]
    try:
        return msgspec.convert(value, type_), []
    except msgspec.ValidationError as problem:
        faults = _Walk(document).check(type_, value, at)
        return None, faults or [_own_words(document, at, problem, value)]


def convert_fields(
    document: Document, type_: type[msgspec.Struct], at: Keys = ()
) -> tuple[dict[str, Any], list[Fault]]:
    """What could be converted of a Struct's fields, by field name, and every fault of the rest.

    Given fields only: no defaults. For callers that go on looking for faults after the first bad field."""
    found, value = _dig(document.data, at)
    if not found or not isinstance(value, dict):
        return {}, convert(document, type_, at)[1]
    faults = _Walk(document).check(type_, value, at)
    good: dict[str, Any] = {}
    for field in msgspec.structs.fields(type_):
        if field.encode_name in value:
            try:
                good[field.name] = msgspec.convert(value[field.encode_name], field.type)
            except msgspec.ValidationError:
                continue
    return good, faults


def _dig(value: Any, at: Keys) -> tuple[bool, Any]:
    for key in at:
        in_mapping = isinstance(value, dict) and key in value
        in_list = isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value)
        if not (in_mapping or in_list):
            return False, None
        value = value[key]
    return True, value


def _own_words(document: Document, at: Keys, problem: msgspec.ValidationError, value: Any) -> Fault:
    """msgspec's complaint about a whole value, where ours has nothing to add."""
    text = str(problem).split(" - at `$")[0]
    return Fault(f"{_subject(at)}{text}, seen {shorten(value)}", document.where(*at))


def _subject(at: Keys) -> str:
    return f"`{spell(at)}`: " if at else ""


class _Walk:
    def __init__(self, document: Document) -> None:
        self._document = document

    def check(self, type_: Any, value: Any, at: Keys) -> list[Fault]:
        """Every fault of a value that is to become `type_`."""
        faults = self._check_inside(_plain(type_), value, at)
        if faults:
            return faults
        try:
            msgspec.convert(value, type_)
        except msgspec.ValidationError as problem:
            return [self._complain(type_, value, at, problem)]
        return []

    def _check_inside(self, type_: Any, value: Any, at: Keys) -> list[Fault]:
        """The faults of what a mapping or list holds; none for a scalar."""
        origin, args = get_origin(type_), get_args(type_)
        if origin in (Union, types.UnionType):
            member = _member_for(args, value)
            return [] if member is None else self.check(member, value, at)
        if isinstance(value, dict):
            if _is_struct(type_):
                return self._check_struct(type_, value, at)
            if origin is not None and issubclass(origin, Mapping):
                return [f for key, item in value.items() for f in self._check_entry(args, key, item, at)]
        if isinstance(value, list) and origin is not None and _is_sequence(origin):
            kinds = _item_types(origin, args, len(value))
            if kinds is not None:
                return [f for i, item in enumerate(value) for f in self.check(kinds[i], item, (*at, i))]
        return []

    def _check_entry(self, args: tuple[Any, ...], key: str, item: Any, at: Keys) -> list[Fault]:
        return self.check(args[0], key, (*at, key)) + self.check(args[1], item, (*at, key))

    def _check_struct(self, type_: type[msgspec.Struct], value: dict[str, Any], at: Keys) -> list[Fault]:
        fields = {field.encode_name: field for field in msgspec.structs.fields(type_)}
        config = type_.__struct_config__
        tag_field = config.tag_field if config.tag is not None else None
        faults: list[Fault] = []
        for key, item in value.items():
            place = (*at, key)
            if key in fields:
                faults += self.check(fields[key].type, item, place)
            elif config.forbid_unknown_fields and key != tag_field:
                faults.append(self._unknown(place, fields))
        for name, field in fields.items():
            if field.required and name not in value:
                faults.append(Fault(f"`{spell((*at, name))}` is missing", self._document.where(*at)))
        return faults

    def _unknown(self, place: Keys, known: Mapping[str, Any]) -> Fault:
        near = did_you_mean(str(place[-1]), known)
        hint = near or f"known keys: {', '.join(known)}"
        return Fault(f"unknown key `{spell(place)}`", self._document.where(*place), hint)

    def _complain(self, type_: Any, value: Any, at: Keys, problem: msgspec.ValidationError) -> Fault:
        where = self._document.where(*at)
        due = describe(type_)
        if not due or isinstance(value, (dict, list)):
            due = due if due and not _fits_shape(type_, value) else ""
        if not due:
            return _own_words(self._document, at, problem, value)
        return Fault(f"{_subject(at)}expected {due}, seen {shorten(value)}", where, _hint(type_, value))


def _plain(type_: Any) -> Any:
    """The type without the constraints that stand around it."""
    while get_origin(type_) is Annotated:
        type_ = get_args(type_)[0]
    return type_


def _is_struct(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, msgspec.Struct)


def _is_sequence(origin: Any) -> bool:
    return isinstance(origin, type) and (issubclass(origin, (Sequence, set, frozenset)))


def _item_types(origin: Any, args: tuple[Any, ...], count: int) -> list[Any] | None:
    if not issubclass(origin, tuple):
        return [args[0]] * count
    if len(args) == 2 and args[1] is Ellipsis:
        return [args[0]] * count
    return list(args) if len(args) == count else None


def _fits_shape(type_: Any, value: Any) -> bool:
    """Whether a mapping meets a mapping type, or a list a list type."""
    plain = _plain(type_)
    origin = get_origin(plain)
    if origin in (Union, types.UnionType):
        return any(_fits_shape(member, value) for member in get_args(plain))
    if isinstance(value, dict):
        return _is_struct(plain) or plain is dict or (isinstance(origin, type) and issubclass(origin, Mapping))
    if isinstance(value, list):
        kind = origin or plain
        return isinstance(kind, type) and kind is not str and issubclass(kind, (Sequence, set, frozenset))
    return False


def _member_for(members: tuple[Any, ...], value: Any) -> Any:
    """The member of a union that a mapping or list is meant for, or None."""
    fitting = [member for member in members if _fits_shape(member, value)]
    if len(fitting) == 1:
        return fitting[0]
    for member in fitting:
        plain = _plain(member)
        if _is_struct(plain) and isinstance(value, dict):
            config = plain.__struct_config__
            if config.tag is not None and value.get(config.tag_field) == config.tag:
                return member
    return None


def _choices(type_: Any) -> list[str]:
    """The words a Literal or Enum allows, unions of them included."""
    plain = _plain(type_)
    origin = get_origin(plain)
    if origin is Literal:
        return [str(choice) for choice in get_args(plain)]
    if origin in (Union, types.UnionType):
        return [word for member in get_args(plain) for word in _choices(member)]
    if isinstance(plain, type) and issubclass(plain, Enum):
        return [str(member.value) for member in plain]
    return []


def describe(type_: Any) -> str:
    """What a value of this type has to be, in words; "" when there are none."""
    plain = _plain(type_)
    origin = get_origin(plain)
    if origin in (Union, types.UnionType):
        members = [describe(member) for member in get_args(plain) if member not in _ABSENT]
        return " or ".join(members) if all(members) else ""
    titles = [note.title for note in _notes(type_) if note.title]
    if titles:
        return titles[0]
    if origin is Literal or (isinstance(plain, type) and issubclass(plain, Enum)):
        return " | ".join(_choices(plain))
    if _is_struct(plain):
        return f"a mapping with {', '.join(f.encode_name for f in msgspec.structs.fields(plain))}"
    shape = origin or plain
    if isinstance(shape, type) and shape not in _NAMES:
        if issubclass(shape, Mapping):
            return "a mapping"
        if issubclass(shape, (Sequence, set, frozenset)):
            return "a list"
    return _NAMES.get(plain, "") and _NAMES[plain] + _bounds(type_)


def _bounds(type_: Any) -> str:
    """The constraints that stand around a type, in words."""
    words = (
        ("ge", "of at least {}"),
        ("gt", "above {}"),
        ("le", "of at most {}"),
        ("lt", "below {}"),
        ("multiple_of", "that is a multiple of {}"),
        ("min_length", "of at least {} characters"),
        ("max_length", "of at most {} characters"),
        ("pattern", "matching {!r}"),
    )
    given = [(getattr(note, name), text) for note in _notes(type_) for name, text in words]
    shown = [text.format(value) for value, text in given if value is not None]
    return f" {' and '.join(shown)}" if shown else ""


def _notes(type_: Any) -> list[msgspec.Meta]:
    """What stands around a type, from the outside in."""
    notes: list[msgspec.Meta] = []
    while get_origin(type_) is Annotated:
        type_, *found = get_args(type_)
        notes += [note for note in found if isinstance(note, msgspec.Meta)]
    return notes


def _hint(type_: Any, value: Any) -> str:
    plain = _plain(type_)
    members = get_args(plain) if get_origin(plain) in (Union, types.UnionType) else (plain,)
    if isinstance(value, str):
        if bool in members and value.lower() in _SWITCH_WORDS:
            return "write true or false"
        return did_you_mean(value, _choices(type_))
    wants_text = str in members or any(isinstance(choice, str) for member in members for choice in get_args(member))
    if wants_text and value is not None and not isinstance(value, (dict, list)):
        return "put it in quotes"
    return ""
