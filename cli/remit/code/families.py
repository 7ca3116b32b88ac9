"""How names of languages reach other files: one row of habits a family, read by `modules` and `resolve`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Literal

import msgspec

from remit.code.languages import Language

Unit = Literal["file", "folder", "tree"]
Relative = Literal["", "dots", "path", "always"]


class Habits(msgspec.Struct, frozen=True, kw_only=True):
    """The habits of a family of languages.

    selfs, supers: qualifiers that mean the type around, and what it inherits from. bare_members: a bare name may be
    a member of the type around. unit: whose top-level names are seen without an import: those of the file, of its
    directory, of all files. loose_owners: an owner may be a table of the file instead of a type.

    separators: between the parts of a module's name. endings: of files of modules, in order. indexes: names of
    the file that speaks for its directory. folders: a module may be a directory as a whole. relative: `dots`
    before the name climb; `path`: names that begin with a dot are paths from the importing file; `always`: all
    are tried as such first. rooted: a name is whole, only a directory that is no package may stand before it.
    roots: first parts that mean the root of the sources. standard: modules of the language itself, by first part.
    lends: an import without a name lends all names. least: parts that must agree where a name is found by its end.

    source_roots: directories whose own path, and what stands before it, is no part of the name of a package.
    packages: files say which package they belong to.

    common: methods of what the language brings along: by name alone they tell nothing.
    """

    selfs: frozenset[str] = frozenset()
    supers: frozenset[str] = frozenset()
    bare_members: bool = False
    unit: Unit = "file"
    loose_owners: bool = False

    separators: str = "./"
    endings: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    folders: bool = False
    relative: Relative = ""
    rooted: bool = False
    roots: frozenset[str] = frozenset()
    standard: frozenset[str] = frozenset()
    lends: bool = False
    least: int = 1
    source_roots: frozenset[str] = frozenset()
    packages: bool = False

    common: frozenset[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _methods(*types: type) -> frozenset[str]:
    return frozenset(name for each in types for name in dir(each))


_GO_STANDARD = _words(
    "archive bufio builtin bytes cmp compress container context crypto database debug embed encoding errors expvar "
    "flag fmt go hash html image index io iter log maps math mime net os path plugin reflect regexp runtime slices "
    "sort strconv strings structs sync syscall testing text time unicode unique unsafe weak"
)

_PYTHON_COMMON = _methods(
    str, bytes, bytearray, list, tuple, dict, set, frozenset, int, float, memoryview, BaseException, type, property
) | _words(
    "acquire cancel close closed communicate connect cursor done execute fetchall fetchone fileno flush get "
    "get_nowait getvalue group groupdict groups is_alive is_dir is_file isatty join kill match mkdir notify now peek "
    "poll put read readable readinto readline readlines recv release result run search seek send set_result start "
    "submit tell terminate truncate utcnow wait warn writable write writelines debug info warning error exception "
    "critical log year month day strftime isoformat timestamp total_seconds throw exists unlink rename touch resolve "
    "iterdir glob read_text write_text read_bytes write_bytes popleft appendleft most_common elements finditer "
    "fullmatch"
)

_SCRIPT_COMMON = _words(
    "add addEventListener all any append appendChild apply assign at bind call catch charAt charCodeAt clear click "
    "close concat constructor contains create createElement defineProperty delete dispatchEvent emit end endsWith "
    "entries error every exec fill filter finally find findIndex flat flatMap forEach freeze from fromEntries get "
    "getAttribute getElementById getTime has hasOwnProperty includes indexOf info isArray items join json keys "
    "lastIndexOf length listen localeCompare log map match max min next now off on once open padEnd padStart parse "
    "pipe pop postMessage push querySelector race read reduce reject remove removeEventListener repeat replace "
    "replaceAll resolve return reverse search send set setAttribute shift size slice some sort splice split "
    "startsWith stringify subscribe substring test text then throw toFixed toISOString toJSON toLowerCase toString "
    "toUpperCase trim unshift update use value valueOf values warn write"
)

_JVM_COMMON = _words(
    "accept add addAll also and append apply asList build charAt clear close collect compareTo compute contains "
    "containsKey copy count debug drop empty endsWith entries entrySet equals error exists exit filter find findFirst "
    "first flatMap flush fold forEach format get getBytes getClass getKey getMessage getName getOrDefault getValue "
    "groupBy hasNext hashCode head indexOf info invoke isEmpty isPresent iterator join keySet last length let limit "
    "lines list map mapTo match max merge min name next nonEmpty of ofNullable offer or orElse peek poll pop post "
    "print printf println push put putAll read reduce remove replace reset reversed run set size sort sorted split "
    "start startsWith stop stream submit substring sum tail take test toArray toInt toList toLowerCase toMap toSet "
    "toString toUpperCase trim update use value valueOf values wait warn with withDefault write zip"
)

_C_COMMON = _words(
    "append at back begin c_str clear close count data emplace emplace_back empty end erase find first front get "
    "insert join length load lock pop pop_back push push_back read release reserve reset resize second seek size "
    "store str substr swap unlock value what write alloc init count objectAtIndex addObject setObject objectForKey "
    "description copy retain autorelease"
)

_RUBY_COMMON = _words(
    "add all any append call capitalize chomp class clear clone close collect compact concat count create delete "
    "detect dig downcase dup each each_with_index each_with_object empty? end_with? fetch filter find find_by first "
    "flat_map flatten format freeze get group_by gsub has_key? include? index inject insert inspect is_a? join key? "
    "keys last length map match max merge min name new nil? none open order pluck pop present? push put puts raise "
    "read reduce reject replace respond_to? reverse round run save scan select send set shift size slice sort sort_by "
    "split start_with? strip sub sum tap then to_a to_h to_i to_json to_s to_sym uniq unshift upcase update upto "
    "values where with write zip"
)

_OTHER_COMMON = _words(
    "Add Any Append Clear Close Contains ContainsKey Count Dispose Equals Error Find First FirstOrDefault Format Get "
    "GetHashCode GetType Insert Invoke IsMatch Join Last Length Log Max Min Next Open Parse Print Printf Println Read "
    "Remove Replace Run Scan Select Set Single Skip Sort Split Start Stop String Sum Take ToArray ToList ToLower "
    "ToString ToUpper Trim TryGetValue Unlock Lock Update Value Wait Where With Write Done Err Body Header abs add "
    "all and_then any append as_bytes as_mut as_ref as_str at borrow bytes chars clear clone close cloned cmp collect "
    "contains contains_key copied count default deref drop each empty end entry enumerate eq err error expect extend "
    "filter filter_map find first flat_map flatten flush fmt fold for_each format from get get_mut hash index insert "
    "into into_iter is_empty is_err is_none is_ok is_some isEmpty iter iter_mut join keys last len length lines lock "
    "map map_err max min new next ok ok_or open or_else parse pop print push push_str put read read_line recv reduce "
    "remove replace reserve rev run send set size skip sort split start starts_with step_by stop sub sum swap take "
    "to_owned to_string toString trim truncate try_from try_into unwrap unwrap_or unwrap_or_default unwrap_or_else "
    "update value values wait windows with_capacity write write_all zip"
)

_JVM = Habits(
    selfs=_words("this"),
    supers=_words("super"),
    bare_members=True,
    unit="folder",
    endings=(".java", ".kt", ".kts", ".scala", ".sc"),
    folders=True,
    least=2,
    source_roots=_words("java kotlin scala"),
    packages=True,
    common=_JVM_COMMON,
)

_HABITS: Mapping[str, Habits] = {
    "Python": Habits(
        selfs=_words("self cls"),
        supers=_words("super()"),
        separators=".",
        endings=(".py", ".pyi", ".pyw"),
        indexes=("__init__",),
        folders=True,
        relative="dots",
        rooted=True,
        standard=sys.stdlib_module_names,
        common=_PYTHON_COMMON,
    ),
    "script": Habits(
        selfs=_words("this"),
        supers=_words("super"),
        separators="/",
        endings=(".ts", ".tsx", ".mts", ".cts", ".d.ts", ".js", ".jsx", ".mjs", ".cjs"),
        indexes=("index",),
        relative="path",
        roots=_words("@ ~ #"),
        loose_owners=True,
        least=2,
        common=_SCRIPT_COMMON,
    ),
    "jvm": _JVM,
    "c": Habits(
        selfs=_words("this self"),
        supers=_words("super"),
        bare_members=True,
        unit="tree",
        separators="/",
        relative="always",
        lends=True,
        common=_C_COMMON,
    ),
    "Go": Habits(
        selfs=_words("self"),
        unit="folder",
        separators="/",
        folders=True,
        standard=_GO_STANDARD,
        common=_OTHER_COMMON,
    ),
    "Rust": Habits(
        selfs=_words("self Self"),
        separators=":",
        endings=(".rs",),
        indexes=("mod", "lib", "main"),
        roots=_words("crate"),
        common=_OTHER_COMMON,
    ),
    "C#": Habits(
        selfs=_words("this"), supers=_words("base"), bare_members=True, unit="tree", folders=True, common=_OTHER_COMMON
    ),
    "Ruby": Habits(
        selfs=_words("self"),
        supers=_words("super"),
        bare_members=True,
        unit="tree",
        separators="/",
        endings=(".rb",),
        relative="always",
        lends=True,
        common=_RUBY_COMMON,
    ),
    "PHP": Habits(
        selfs=_words("$this self static"),
        supers=_words("parent"),
        unit="tree",
        separators="\\/",
        endings=(".php",),
        folders=True,
        relative="path",
        packages=True,
        common=_OTHER_COMMON,
    ),
    "Swift": Habits(
        selfs=_words("self Self"), supers=_words("super"), bare_members=True, unit="tree", common=_OTHER_COMMON
    ),
    "Dart": Habits(
        selfs=_words("this"),
        supers=_words("super"),
        bare_members=True,
        separators="/",
        relative="always",
        lends=True,
        common=_OTHER_COMMON,
    ),
    "Gleam": Habits(separators="/", endings=(".gleam",), common=_OTHER_COMMON),
    "Elixir": Habits(selfs=_words("__MODULE__"), bare_members=True, unit="tree", common=_OTHER_COMMON),
    "Lua": Habits(
        selfs=_words("self"),
        separators="./",
        endings=(".lua",),
        indexes=("init",),
        unit="tree",
        loose_owners=True,
        common=_OTHER_COMMON,
    ),
    "Bash": Habits(separators="/", unit="tree", relative="always", lends=True),
    "Starlark": Habits(separators="/:", relative="path", roots=_words("//")),
    "Zig": Habits(
        selfs=_words("self Self @This()"), separators="/", endings=("", ".zig"), relative="always", common=_OTHER_COMMON
    ),
    "Nix": Habits(separators="/", endings=("", ".nix"), indexes=("default",), relative="always"),
    "HCL": Habits(unit="folder"),
}

_PLAIN = Habits()


def family_of(language: Language) -> str:
    """The name of the space of names that a language belongs to."""
    return language.family or language.name


def habits_of(family: str) -> Habits:
    return _HABITS.get(family, _PLAIN)
