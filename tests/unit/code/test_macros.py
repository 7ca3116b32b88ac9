"""Source of C and its relatives, as their grammars can read it."""

from __future__ import annotations

import pytest

from remit.code.extract import extract
from remit.code.languages import by_name
from remit.code.macros import without_macros


@pytest.mark.parametrize(
    ("language", "source", "readable"),
    [
        ("C", b"PyAPI_FUNC(PyObject *) PyList_New(int size);", b"           PyObject *  PyList_New(int size);"),
        ("C", b"extern EXPORT(int) full(void);", b"extern        int  full(void);"),
        ("C", b"RING_API int full(void);", b"         int full(void);"),
        ("C", b"typedef void (APIENTRYP hook)(int);", b"typedef void (          hook)(int);"),
        ("C", b"typedef _Atomic(int) count;", b"typedef         int  count;"),
        ("C", b"struct a {\n    PyObject_HEAD\n    int b;\n};", b"struct a {\n                 \n    int b;\n};"),
        (
            "C",
            b'#ifdef __cplusplus\nextern "C" {\n#endif\nint a;\n#ifdef __cplusplus\n}\n#endif\n',
            b"                  \n            \n#endif\nint a;\n#ifdef __cplusplus\n \n#endif\n",
        ),
        ("C++", b"class LIB_API Name : public Base {};", b"class         Name : public Base {};"),
        ("C++", b"struct ALIGN(8) Name {};", b"struct          Name {};"),
        ("Kotlin", b"class A(val b: C) : D by b {\n}", b"class A(val b: C) : D      {\n}"),
        ("Kotlin", b") : A, B<C> by d.e() {", b") : A, B<C>          {"),
        ("Kotlin", b"val a by lazy {\nval b: C<D> by lazy {\n}", b"val a by lazy {\nval b: C<D> by lazy {\n}"),
        ("Objective-C", b"NS_ASSUME_NONNULL_BEGIN\n@end", b"                       \n@end"),
        ("Objective-C", b"typedef NS_ENUM(NSInteger, Color) { Red };", b"enum                       Color  { Red };"),
    ],
)
def test_macros_become_blanks_of_their_length(language: str, source: bytes, readable: bytes) -> None:
    told = without_macros(language, source)
    assert len(told) == len(source)
    assert [" ".join(line.split()) for line in told.decode().splitlines()] == [
        " ".join(line.split()) for line in readable.decode().splitlines()
    ]
    assert told.count(b"\n") == source.count(b"\n")


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("C", b"int x = FOO(1);\nreturn API(x);\nHRESULT open(int a);\nstatic UINT count(void);\n"),
        ("C++", b"class Name : Base {};\nstruct Name final {};\nclass UPPER {};\n"),
        ("Python", b"RING_API = class_(LIB_API)\n"),
    ],
)
def test_all_else_stays(language: str, source: bytes) -> None:
    assert without_macros(language, source) == source


@pytest.mark.parametrize(
    ("source", "language"),
    [
        (b"int a;\nstruct b { int c; };\n", "C"),
        (b"namespace a {\nint b;\n}\n", "C++"),
        (b"class A\n{\n};\n", "C++"),
        (b"template <class T> T a();\n", "C++"),
        (b"using a = int;\n", "C++"),
        (b"#include <vector>\n", "C++"),
        (b"#import <Foundation/Foundation.h>\n", "Objective-C"),
        (b"@protocol A\n@end\n", "Objective-C"),
    ],
)
def test_what_is_in_a_header_tells_its_language(source: bytes, language: str) -> None:
    assert extract(by_name("C"), source).language == language
