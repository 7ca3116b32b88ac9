from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.base.errors import Faults
from remit.config.load import MAX_FILE_BYTES, convert, convert_fields, parse, read, read_text
from remit.config.yaml_reader import MAX_DEPTH, MAX_VALUES, read_yaml


class Input(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["string", "integer"] = "string"
    default: str | int | None = None


class Card(msgspec.Struct, forbid_unknown_fields=True, tag="card"):
    number: str


class Cash(msgspec.Struct, forbid_unknown_fields=True, tag="cash"):
    coins: list[int]


class Sample(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    version: Literal[1]
    name: str
    inputs: dict[str, Input] = {}
    tools: dict[str, Literal["auto", "ask", "deny"] | Input] = {}
    hosts: tuple[str, ...] = ()
    turn_count: Annotated[int, msgspec.Meta(ge=1, le=9)] | None = None
    share: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    loud: bool = False
    until: datetime | None = None
    pay: Card | Cash | None = None


def faults_of(text: str, format: Literal["yaml", "toml"] = "yaml") -> list[str]:
    with pytest.raises(Faults) as caught:
        parse(text, f"f.{format}", format)
    return [str(fault) for fault in caught.value.faults]


BAD_YAML = """\
version: 2
nmae: x
inputs:
  a: {type: strng, defalt: 3}
  b: 4
tools:
  read: atuo
  w: {type: integr}
  z: [1]
hosts: [a, 3, no]
turn-count: 0
share: 0
loud: yes
until: soon
pay: {type: cash, coins: [1, two]}
"""

BAD_TOML = """\
version = 2
nmae = "x"
hosts = [
  "a",
  3,   # a number
  "no",
]
turn-count = 10
share = "much"
loud = "off"
until = 2026-01-01
pay.type = "card"
pay.numbr = "1"

[inputs.a]
type = "strng"
defalt = 3

[inputs]
b = 4

[tools]
read = "atuo"
w.type = "integr"
z = [1]
"""


def test_all_faults_of_a_yaml_file_at_once() -> None:
    value, faults = convert(parse(BAD_YAML, "t.yaml", "yaml"), Sample)
    assert value is None
    assert [str(fault) for fault in faults] == [
        "t.yaml:1: `version`: expected 1, seen 2",
        "t.yaml:2: unknown key `nmae` (did you mean `name`?)",
        "t.yaml:4: `inputs.a.type`: expected string | integer, seen 'strng' (did you mean `string`?)",
        "t.yaml:4: unknown key `inputs.a.defalt` (did you mean `default`?)",
        "t.yaml:5: `inputs.b`: expected a mapping with type, default, seen 4",
        "t.yaml:7: `tools.read`: expected auto | ask | deny or a mapping with type, default, seen 'atuo'"
        " (did you mean `auto`?)",
        "t.yaml:8: `tools.w.type`: expected string | integer, seen 'integr' (did you mean `integer`?)",
        "t.yaml:9: `tools.z`: expected auto | ask | deny or a mapping with type, default, seen [1]",
        "t.yaml:10: `hosts[1]`: expected a string, seen 3 (put it in quotes)",
        "t.yaml:11: `turn-count`: expected a whole number of at least 1 and of at most 9, seen 0",
        "t.yaml:12: `share`: expected a number above 0, seen 0",
        "t.yaml:13: `loud`: expected true or false, seen 'yes' (write true or false)",
        "t.yaml:14: `until`: expected a date and time such as 2026-12-31T00:00:00Z, seen 'soon'",
        "t.yaml:15: `pay.coins[1]`: expected a whole number, seen 'two'",
        "t.yaml:1: `name` is missing",
    ]


def test_all_faults_of_a_toml_file_at_once() -> None:
    value, faults = convert(parse(BAD_TOML, "t.toml", "toml"), Sample)
    assert value is None
    assert [str(fault) for fault in faults] == [
        "t.toml:1: `version`: expected 1, seen 2",
        "t.toml:2: unknown key `nmae` (did you mean `name`?)",
        "t.toml:5: `hosts[1]`: expected a string, seen 3 (put it in quotes)",
        "t.toml:8: `turn-count`: expected a whole number of at least 1 and of at most 9, seen 10",
        "t.toml:9: `share`: expected a number above 0, seen 'much'",
        "t.toml:10: `loud`: expected true or false, seen 'off' (write true or false)",
        "t.toml:11: `until`: expected a date and time such as 2026-12-31T00:00:00Z, seen 2026-01-01",
        "t.toml:13: unknown key `pay.numbr` (did you mean `number`?)",
        "t.toml:12: `pay.number` is missing",
        "t.toml:16: `inputs.a.type`: expected string | integer, seen 'strng' (did you mean `string`?)",
        "t.toml:17: unknown key `inputs.a.defalt` (did you mean `default`?)",
        "t.toml:20: `inputs.b`: expected a mapping with type, default, seen 4",
        "t.toml:23: `tools.read`: expected auto | ask | deny or a mapping with type, default, seen 'atuo'"
        " (did you mean `auto`?)",
        "t.toml:24: `tools.w.type`: expected string | integer, seen 'integr' (did you mean `integer`?)",
        "t.toml:25: `tools.z`: expected auto | ask | deny or a mapping with type, default, seen [1]",
        "t.toml:1: `name` is missing",
    ]


def test_a_good_file_converts() -> None:
    text = "version: 1\nname: n\nturn-count: 9\nuntil: 2026-12-31T00:00:00Z\nshare: 2\npay: {type: card, number: '4'}\n"
    value, faults = convert(parse(text, "t.yaml", "yaml"), Sample)
    assert faults == []
    until = datetime(2026, 12, 31, tzinfo=UTC)
    assert value == Sample(version=1, name="n", turn_count=9, until=until, share=2.0, pay=Card("4"))


def test_a_part_of_a_file_converts_with_its_place() -> None:
    document = parse("list:\n  - version: 1\n    name: a\n  - version: 1\n    name: 4\n", "t.yaml", "yaml")
    assert convert(document, Sample, ("list", 0))[0] == Sample(version=1, name="a")
    assert [str(f) for f in convert(document, Sample, ("list", 1))[1]] == [
        "t.yaml:5: `list[1].name`: expected a string, seen 4 (put it in quotes)"
    ]
    assert [str(f) for f in convert(document, Sample, ("list", 2))[1]] == ["t.yaml:1: `list[2]` is missing"]


@pytest.mark.parametrize(("text", "seen"), [("- 1\n", "[1]"), ("hello\n", "'hello'"), ("3\n", "3")])
def test_a_root_that_is_no_mapping(text: str, seen: str) -> None:
    for faults in (
        convert(parse(text, "t.yaml", "yaml"), Sample)[1],
        convert_fields(parse(text, "t.yaml", "yaml"), Sample)[1],
    ):
        assert len(faults) == 1
        assert str(faults[0]).startswith("t.yaml:1: expected a mapping with version, name")
        assert str(faults[0]).endswith(f"seen {seen}")


def test_good_fields_are_kept_beside_bad_ones() -> None:
    document = parse("version: 1\nname: 3\nturn-count: 2\n", "t.yaml", "yaml")
    good, faults = convert_fields(document, Sample)
    assert good == {"version": 1, "turn_count": 2}
    assert [str(fault) for fault in faults] == ["t.yaml:2: `name`: expected a string, seen 3 (put it in quotes)"]


def test_a_check_of_the_type_itself_is_told_with_its_line() -> None:
    class Even(msgspec.Struct):
        number: int

        def __post_init__(self) -> None:
            if self.number % 2:
                raise ValueError("not even")

    faults = convert(parse("a: 1\nb:\n  number: 3\n", "t.yaml", "yaml"), Even, ("b",))[1]
    assert [str(fault) for fault in faults] == ["t.yaml:2: `b`: not even, seen {'number': 3}"]


YAML_FAULTS: list[tuple[str, list[str]]] = [
    (
        "a: 1\nb:\n  c: 1\n  c: 2\na: 2\n",
        [
            "f.yaml:4: the key 'c' is given twice (first on line 3)",
            "f.yaml:5: the key 'a' is given twice (first on line 1)",
        ],
    ),
    ("a: !x 1\nb: !!str 2\n", ["f.yaml:1: the tag '!x' is not supported (remove it)",
                               "f.yaml:2: the tag 'tag:yaml.org,2002:str' is not supported (remove it)"]),
    ("a: !!python/object:os.x {}", ["f.yaml:1: the tag 'tag:yaml.org,2002:python/object:os.x' is not supported"
                                    " (remove it)"]),
    ("1: 2\ntrue: 1\nnull: 1\n", ["f.yaml:1: the key 1 is not a string (put it in quotes)",
                                  "f.yaml:2: the key true is not a string (put it in quotes)",
                                  "f.yaml:3: the key null is not a string (put it in quotes)"]),
    ("? [a]\n: 1", ["f.yaml:1: a list or mapping is used as a key (keys are strings)"]),
    ("a: &x b\n*x : 1", ["f.yaml:2: the alias *x is used as a key (write the key out)"]),
    ("b: &x {c: 1}\na:\n  <<: *x\n", ["f.yaml:3: merge keys (`<<`) are not supported (write the keys out)"]),
    ("a: &a [1, *a]", ["f.yaml:1: the alias *a contains itself (write the value out)"]),
    ("a: 1\nb: *c", ["f.yaml:2: the alias *c has no anchor &c before it"]),
    ("a: 1\n---\nb: 2\n", ["f.yaml:2: a second YAML document starts here"
                           " (one file holds one document: remove the `---`)"]),
    ("", ["f.yaml:1: the file is empty"]),
    (" \n\n", ["f.yaml:1: the file is empty"]),
    ("# only a comment\n", ["f.yaml:1: the file is empty"]),
    ("---\n", ["f.yaml:1: the file is empty"]),
    ("a: 1\nb: \x07\n", ["f.yaml:2: the character U+0007 is not allowed (remove it)"]),
    ("a: 1\nb:\n  c: 1e999\n", ["f.yaml:3: `b.c`: inf is not a finite number"]),
    ('a: "x\\0"\n"b\\0": 1\n', ["f.yaml:2: `'b\\x00'` holds a NUL character",
                                "f.yaml:1: `a` holds a NUL character"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), YAML_FAULTS)
def test_yaml_faults(text: str, expected: list[str]) -> None:
    assert faults_of(text) == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\nb: [1\nc: 2\n", 3), ("a:\n\tb: 1\n", 2), ("a: 'x\n", 2), ("a: b: c\n", 1), ('a: "\\ud800"\n', 1)],
)
def test_a_yaml_syntax_error_names_its_line(text: str, line: int) -> None:
    (fault,) = faults_of(text)
    assert fault.startswith(f"f.yaml:{line}: not valid YAML: ")


def test_duplicate_keys_before_a_syntax_error_are_told_too() -> None:
    faults = faults_of("a: 1\na: 2\nb: [\n")
    assert faults[0] == "f.yaml:2: the key 'a' is given twice (first on line 1)"
    assert faults[1].startswith("f.yaml:4: not valid YAML")


def test_aliases_share_a_value_and_are_bounded() -> None:
    assert parse("a: &x [1, 2]\nb: *x\n", "f.yaml", "yaml").data == {"a": [1, 2], "b": [1, 2]}
    levels = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10))
    (fault,) = faults_of("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + levels)
    assert fault.endswith(f"the file holds more than {MAX_VALUES} values once its aliases are written out")


def test_the_number_of_values_is_bounded_exactly() -> None:
    text = "- 1\n" * (MAX_VALUES - 1)
    assert len(read_yaml(text, "f.yaml")[0]) == MAX_VALUES - 1
    with pytest.raises(Faults, match="more than 100000 values"):
        read_yaml(text + "- 1\n", "f.yaml")


@pytest.mark.parametrize(("format", "text"), [("yaml", "{}"), ("toml", "a = {}")], ids=["yaml", "toml"])
def test_depth_is_bounded_exactly(format: Literal["yaml", "toml"], text: str) -> None:
    used = 1 if format == "toml" else 0
    fits, over = MAX_DEPTH - used, MAX_DEPTH - used + 1
    assert parse(text.format("[" * fits + "]" * fits), "f", format).data
    with pytest.raises(Faults, match=f"nested deeper than {MAX_DEPTH} levels"):
        parse(text.format("[" * over + "]" * over), "f", format)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "a:\n "])
def test_absurd_yaml_nesting_is_a_fault(opening: str) -> None:
    with pytest.raises(Faults):
        parse(opening * 20_000, "f.yaml", "yaml")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("yes", "yes"), ("no", "no"), ("on", "on"), ("off", "off"), ("deny", "deny"), ("auto", "auto"),
        ("1MiB", "1MiB"), ("010", "010"), ("1_000", "1_000"), ("12:30", "12:30"), ("2024-01-01", "2024-01-01"),
        ("=", "="), (".inf", ".inf"), (".nan", ".nan"), ("1.2.3", "1.2.3"), ("0x", "0x"), ("1e", "1e"),
        ("9" * 18, int("9" * 18)), (str(2**63 - 1), 2**63 - 1), ("9" * 20, "9" * 20), ("9" * 5000, "9" * 5000),
        ("true", True), ("False", False), ("~", None), ("", None), ("null", None),
        ("7", 7), ("-7", -7), ("0x1F", 31), ("0o17", 15), ("1.50", 1.5), ("1e3", 1000.0), ("-.5", -0.5),
        ("'7'", "7"), ('"true"', "true"), ("|\n  7\n", "7\n"),
    ],
)  # fmt: skip
def test_yaml_scalars_are_those_of_yaml_1_2(written: str, value: Any) -> None:
    read_back = parse(f"a: {written}", "f.yaml", "yaml").data["a"]
    assert read_back == value
    assert type(read_back) is type(value)


def test_yaml_keys_that_yaml_1_1_would_change_stay_strings() -> None:
    assert parse("on: 1\nno: 2\non_ask: stop\n", "f.yaml", "yaml").data == {"on": 1, "no": 2, "on_ask": "stop"}


def test_yaml_lines() -> None:
    text = (
        "# top\na: 1\nb:\n  - x\n  - c: |\n      long\n      text\n    d: 2\ne: {f: [1,\n  2]}\nk: &k {z: 1}\nl: *k\n"
    )
    document = parse(text, "f.yaml", "yaml")
    places: dict[tuple[str | int, ...], int] = {
        (): 1, ("a",): 2, ("b",): 3, ("b", 0): 4, ("b", 1): 5, ("b", 1, "c"): 5, ("b", 1, "d"): 8,
        ("e", "f", 0): 9, ("e", "f", 1): 10, ("l",): 12, ("l", "z"): 12, ("nope",): 1, ("b", 9, "x"): 3,
    }  # fmt: skip
    assert {place: document.line(*place) for place in places} == places
    assert document.where("b", 1, "d") == "f.yaml:8"


def test_toml_lines() -> None:
    text = '''# top
a = 1
"q.x" = """
[not.a.table]
b = 3
"""
c.d."e" = { f = [1, 2], g.h = 'x' }
dates = [1979-05-27 07:32:00Z,
  07:32:00, # ]
  "]",
]

[table.sub]
x = [[1],
  [2, {y = 3}]]

[[rule]]
n = 1
[rule.examples]
match = ["a"]

[[rule]]
[rule.examples]
match = [
  "b",
  \'\'\'
c = ]\'\'\',
]
[[rule.part]]
z = 1
[[rule.part]]
z = 2
[table]
"\\u0061" = 1
'''
    document = parse(text, "f.toml", "toml")
    places: dict[tuple[str | int, ...], int] = {
        (): 1, ("a",): 2, ("q.x",): 3, ("c",): 7, ("c", "d", "e", "f", 1): 7, ("c", "d", "e", "g", "h"): 7,
        ("dates",): 8, ("dates", 1): 9, ("dates", 2): 10, ("table", "sub", "x", 1): 15, ("b",): 1,
        ("table", "sub", "x", 1, 1, "y"): 15, ("rule", 0): 17, ("rule", 0, "n"): 18, ("rule", 0, "examples"): 19,
        ("rule", 0, "examples", "match", 0): 20, ("rule", 1): 22, ("rule", 1, "examples", "match"): 24,
        ("rule", 1, "examples", "match", 0): 25, ("rule", 1, "examples", "match", 1): 26,
        ("rule", 1, "part", 0, "z"): 30, ("rule", 1, "part", 1, "z"): 32, ("rule", 9): 17, ("table", "a"): 34,
    }  # fmt: skip
    assert {place: document.line(*place) for place in places} == places


def test_toml_lines_with_crlf() -> None:
    document = parse("a = 1\r\n\r\nb = [\r\n 1,\r\n 2]\r\n", "f.toml", "toml")
    assert [document.line("b"), document.line("b", 1)] == [3, 5]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1\na = 2\n", "f.toml:2: the key `a` is given twice (first on line 1)"),
        ('a = 1\nb = 2\na = """\n\n"""\n', "f.toml:3: the key `a` is given twice (first on line 1)"),
        ("a = 1\na = {b = 2}\n", "f.toml:2: the key `a` is given twice (first on line 1)"),
        ("[t]\nx = 1\n[u]\n[t]\n", "f.toml:4: the key `t` is given twice (first on line 1)"),
        ("[t]\nx = 1\ny = 1\nx = 2\n", "f.toml:4: the key `t.x` is given twice (first on line 2)"),
        ("[[t]]\nx = 1\n[[t]]\nx = 1\nx = 2\n", "f.toml:5: the key `t[1].x` is given twice (first on line 4)"),
        ("[t]\nx = 1\n[t.x]\n", "f.toml:3: the key `t.x` is given twice (first on line 2)"),
        ("a = 1\na.b = 2\n", "f.toml:2: the key `a` is given twice (first on line 1)"),
        ("a = {b = 1, b = 2}\n", "f.toml:1: the key `a.b` is given twice"),
        ('"a b" = 1\n"a b" = 2\n', "f.toml:2: the key `'a b'` is given twice (first on line 1)"),
        ("x = [1]\n[[x]]\n", "f.toml:2: the key `x` is given twice (first on line 1)"),
        ("a = 1\nb = \n", "f.toml:2: not valid TOML: invalid value"),
        ("a = " + "9" * 5000, "f.toml:1: a number has too many digits"),
        ("a = " + "[" * 5000, "f.toml:1: values are nested too deep"),
        (f"a = {2**63}\n", "f.toml:1: `a`: 9223372036854775808 does not fit in 64 bits"),
        (f"a = {-(2**63) - 1}\n", "f.toml:1: `a`: -9223372036854775809 does not fit in 64 bits"),
        ("a = inf\n", "f.toml:1: `a`: inf is not a finite number"),
        ("b = [\n1.0,\nnan]\n", "f.toml:3: `b[1]`: nan is not a finite number"),
        ('a = "x\\u0000"\n', "f.toml:1: `a` holds a NUL character"),
        ("", "f.toml:1: the file is empty"),
    ],
)
def test_toml_faults(text: str, expected: str) -> None:
    assert faults_of(text, "toml") == [expected]


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_bytes(b"\xef\xbb\xbfa = 1\n")
    assert read(str(file)).data == {"a": 1}


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    def said(name: str) -> str:
        with pytest.raises(Faults) as caught:
            read(str(tmp_path / name))
        (fault,) = caught.value.faults
        return str(fault).replace(str(tmp_path), "DIR")

    (tmp_path / "d.yaml").mkdir()
    (tmp_path / "latin.yaml").write_bytes(b"a: 1\nb: caf\xe9\n")
    (tmp_path / "x.json").write_text("{}")
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    assert said("none.yaml") == "DIR/none.yaml: there is no such file"
    assert said("none.txt") == "DIR/none.txt: there is no such file"
    (tmp_path / "dangling.yaml").symlink_to("gone")
    assert said("dangling.yaml") == "DIR/dangling.yaml: this link leads to no file (remove it, or put the file there)"
    assert said("d.yaml") == "DIR/d.yaml: this is a directory, not a file"
    assert said("pipe.yaml") == "DIR/pipe.yaml: this is not a regular file"
    assert said("loop.yaml") == "DIR/loop.yaml: the file cannot be opened: Too many levels of symbolic links"
    assert said("x.json") == "DIR/x.json: the file's ending says no format (name it .yaml, .yml or .toml)"
    assert said("latin.yaml") == (
        "DIR/latin.yaml:2: not valid UTF-8: byte 0xe9 at byte offset 11 (save the file as UTF-8)"
    )
    with pytest.raises(Faults, match=r"no such file \(paths are taken from the current directory\)"):
        read("none.yaml")
    with pytest.raises(Faults, match="is not a file name"):
        read("a\0b.yaml")


def test_a_file_without_read_permission(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text("a: 1\n")
    file.chmod(0)
    if os.access(file, os.R_OK):
        assert read(str(file)).data == {"a": 1}  # the superuser reads everything
        return
    with pytest.raises(Faults, match="the file cannot be opened: Permission denied"):
        read(str(file))


def test_the_size_of_a_file_is_bounded_exactly(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text("a: 1\n#" + "x" * (MAX_FILE_BYTES - 6))
    assert read(str(file)).data == {"a": 1}
    file.write_text("a: 1\n#" + "x" * (MAX_FILE_BYTES - 5))
    with pytest.raises(Faults, match=f"the file is larger than {MAX_FILE_BYTES} bytes"):
        read(str(file))
    assert len(read_text(str(file), None)) == MAX_FILE_BYTES + 1


PLACES = st.lists(st.one_of(st.sampled_from(["a", "b", "rule", "x.y", ""]), st.integers(-1, 3)), max_size=4)
SCRAPS = st.lists(
    st.sampled_from(
        ["a", "b", "rule", '"x.y"', "'l'", " = ", "=", "[", "]", "[[", "]]", "{", "}", ",", ".", "\n", "\r\n", " ",
         "#c", '"""', "'''", "1", "true", '"s\\n"', "- ", ": ", "|\n  ", "&x ", "*x", "? ", "!t ", "'", '"',
         "\\", "\t", "é"]
    ),
    max_size=30,
).map("".join)  # fmt: skip


@settings(max_examples=300)
@given(text=st.one_of(SCRAPS, st.text(max_size=60)), place=PLACES, format=st.sampled_from(["yaml", "toml"]))
def test_any_text_parses_or_faults_and_where_never_crashes(
    text: str, place: list[str | int], format: Literal["yaml", "toml"]
) -> None:
    try:
        document = parse(text, "f", format)
    except Faults as problem:
        assert all(fault.where.startswith("f:") for fault in problem.faults)
        return
    assert 1 <= document.line(*place) <= len(text.splitlines()) + 1
    convert(document, Sample)
    convert_fields(document, Sample)


VALUES = st.recursive(
    st.one_of(st.integers(-5, 5), st.booleans(), st.sampled_from(["x", "a ] b", 'q " ', "#", "l\nm"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "b", "c d", "e.f"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def written_toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}" = {written_toml(item)}' for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[\n" + "".join(f"{written_toml(item)},\n" for item in value) + "]"
    return msgspec.json.encode(value).decode()


@settings(max_examples=150)
@given(table=st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES, min_size=1, max_size=3))
def test_both_formats_read_the_same_values_and_every_line_is_known(table: dict[str, Any]) -> None:
    toml = parse("".join(f"{key} = {written_toml(value)}\n" for key, value in table.items()), "f", "toml")
    yaml = parse(msgspec.json.format(msgspec.json.encode(table), indent=1).decode(), "f", "yaml")
    assert toml.data == yaml.data == table
    # Each value of the JSON text stands on its own line, so lines grow as the walk goes down.
    last = 0
    for place in places_of(table):
        line = yaml.line(*place)
        assert line > last
        assert toml.line(*place) >= toml.line(*place[:-1])
        last = line


def places_of(value: Any, place: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, item in items for found in [(*place, key), *places_of(item, (*place, key))]]
