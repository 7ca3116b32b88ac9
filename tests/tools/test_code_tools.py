"""code_map, code_context, code_refs, code_impact and code_expand on one small tree, read as a run reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes.context import call
from remit.base.calls import Outcome
from remit.base.errors import ErrorCode, Failure
from remit.base.resources import Effect, Resource
from remit.store.facts import KeptFacts
from remit.tools import registry
from remit.tools.code.code_context import CodeContext
from remit.tools.code.code_expand import MAX_SOURCE_BYTES, CodeExpand
from remit.tools.code.code_impact import CodeImpact
from remit.tools.code.code_map import CodeMap
from remit.tools.code.code_refs import CodeRefs
from remit.tools.contract import Tool
from remit.wiring.source import Source
from remit.workspace.grant import FilesGrant
from remit.workspace.root import Root

FILES = {
    "shop/__init__.py": "from shop.cart import Cart\n",
    "shop/cart.py": '''"""What people buy."""

from shop.prices import price_of
from shop.store import Store


class Cart:
    """The basket of one customer."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.items = []

    def add_item(self, name):
        """Put one more item into the basket."""
        self.items.append(name)
        self.store.reserve(name)

    def total(self):
        return sum(price_of(name) for name in self.items)


def check_out(cart: Cart):
    """Charge the customer."""
    return cart.total()
''',
    "shop/prices.py": '''def price_of(name):
    """The price of an item in cents."""
    return _table()[name]


def _table():
    return {}


def discount(name):
    return price_of(name) // 2
''',
    "shop/store.py": """class Store:
    def reserve(self, name):
        return name


class Shelf(Store):
    def total(self):
        return 0
""",
    "tests/test_cart.py": """from shop import Cart
from shop.cart import check_out


def test_total():
    cart = Cart(None)
    assert cart.total() == 0


def test_check_out():
    check_out(Cart(None))
""",
    "notes.txt": "price_of is not source here\n",
}


@pytest.fixture(scope="module")
def source() -> Iterator[Source]:
    source = Source(KeptFacts(""))
    yield source
    source.close()


@pytest.fixture
def ask(source: Source, workspace: Path, root: Root) -> Callable[..., Outcome]:
    for name, text in FILES.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def asked(tool: Tool, entry_allowed: Callable[[Resource], bool] = lambda entry: True, **arguments: Any) -> Outcome:
        return call(tool, arguments, root, entry_allowed=entry_allowed, source=source)

    return asked


def names(rows: list[dict[str, Any]]) -> list[str]:
    return [row["name"] for row in rows]


FOOTER = "[files 5, symbols 14, edges 12, unresolved 2, ambiguous 0]"


@pytest.mark.parametrize("name", ["code_map", "code_context", "code_refs", "code_impact", "code_expand"])
def test_what_the_tools_say_of_themselves(name: str) -> None:
    tool = registry.load(name)
    assert tool.effects == {Effect.READ}
    assert tool.toolset == "code"
    description = tool.spec().description
    assert "lower bound" in description
    assert "limits" in description or "1 MiB" in description
    assert len(description) < 900


# -- code_map ----------------------------------------------------------------------------------


def test_the_map_of_a_tree(ask: Callable[..., Outcome]) -> None:
    outcome = ask(CodeMap())
    assert outcome.ok, outcome
    lines = outcome.text.splitlines()
    assert lines[0] == "name kind path:lines in=symbols that mention it out=symbols it mentions (each at least)"
    assert "price_of function shop/prices.py:1-3 in=2 out=1" in lines
    assert "test_total function tests/test_cart.py:5-7 in=0 out=2 [test]" in lines
    assert lines[-1] == FOOTER
    assert outcome.data["total"] == len(outcome.data["rows"]) == 14
    assert outcome.data["tree"]["files"] == 5
    assert names(outcome.data["rows"])[-2:] == ["test_total", "test_check_out"]


def test_a_map_of_a_directory_and_a_limit(ask: Callable[..., Outcome]) -> None:
    outcome = ask(CodeMap(), path="shop", limit=2)
    assert outcome.data["tree"]["files"] == 4
    assert len(outcome.data["rows"]) == 2
    assert "[2 of 12 symbols shown; 10 more]" in outcome.text
    assert all(row["path"].startswith("shop/") for row in outcome.data["rows"])
    assert ask(CodeMap(), path="").data["rows"] == ask(CodeMap(), path=".").data["rows"] != []


@pytest.mark.parametrize("limit", [0, -1, "many"])
def test_a_limit_is_a_positive_number(ask: Callable[..., Outcome], limit: object) -> None:
    outcome = ask(CodeMap(), limit=limit)
    assert outcome.error is not None
    assert outcome.error.code is ErrorCode.INVALID_ARGUMENTS


def test_a_limit_only_narrows(ask: Callable[..., Outcome], workspace: Path) -> None:
    (workspace / "many.py").write_text("".join(f"def f{number}(): pass\n" for number in range(2100)))
    assert len(ask(CodeMap()).data["rows"]) == 200
    outcome = ask(CodeMap(), limit=1_000_000)
    assert outcome.data["total"] == 2114
    assert len(outcome.data["rows"]) < 2000  # bytes end it first
    assert len(outcome.text.encode()) <= CodeMap.bounds.output_bytes
    assert f"[{len(outcome.data['rows'])} of 2114 symbols shown;" in outcome.text


def test_where_there_is_no_source(source: Source, workspace: Path, root: Root) -> None:
    (workspace / "notes.txt").write_text("x")
    outcome = call(CodeMap(), {}, root, source=source)
    assert outcome.text == "No symbols found.\n[files 0, symbols 0, edges 0, unresolved 0, ambiguous 0]"


def test_a_file_is_no_tree(ask: Callable[..., Outcome]) -> None:
    outcome = ask(CodeMap(), path="shop/cart.py")
    assert outcome.error is not None
    assert outcome.error.code is ErrorCode.NOT_A_DIRECTORY
    assert outcome.error.message.startswith(
        "'shop/cart.py' is no directory, and path is the directory to read: give 'shop', or leave it out"
    )
    for tool in (CodeRefs(), CodeImpact(), CodeExpand()):
        refused = ask(tool, symbol="total", path="shop/cart.py/")
        assert refused.error is not None
        assert refused.error.code is ErrorCode.NOT_A_DIRECTORY
    missing = ask(CodeMap(), path="nowhere")
    assert missing.error is not None
    assert missing.error.code is ErrorCode.NOT_FOUND


def test_what_rules_withhold_is_neither_shown_nor_known(ask: Callable[..., Outcome]) -> None:
    def allowed(entry: Resource) -> bool:
        return entry.name != "shop/prices.py"

    outcome = ask(CodeMap(), entry_allowed=allowed)
    assert outcome.data["tree"]["files"] == 4
    assert "prices" not in outcome.text
    assert "price_of" not in outcome.text
    assert "[skipped: 1 withheld by rules]" in outcome.text
    refused = ask(CodeRefs(), entry_allowed=allowed, symbol="price_of")
    assert refused.error is not None
    assert "in the 4 files that were read (1 others were not: code_map tells why)" in refused.error.message
    assert "close names" not in refused.error.message


def test_errors_of_syntax_are_told(ask: Callable[..., Outcome], workspace: Path) -> None:
    (workspace / "broken.py").write_text("def fine(): pass\nclass (:\n")
    outcome = ask(CodeMap())
    assert "fine function" in outcome.text
    assert "[1 files have errors of syntax: read around them]" in outcome.text


def test_what_was_minified_adds_no_symbols(ask: Callable[..., Outcome], workspace: Path) -> None:
    before = ask(CodeMap()).data["tree"]["symbols"]
    (workspace / "a.min.js").write_text("".join(f"function f{number}(a){{return a}}" for number in range(300)))
    outcome = ask(CodeMap())
    assert outcome.data["tree"]["symbols"] == before
    assert "[read in part: 1 for being minified]" in outcome.text


def test_a_part_of_a_go_module_is_known_by_the_manifest_above(ask: Callable[..., Outcome], workspace: Path) -> None:
    (workspace / "go/inner/store").mkdir(parents=True)
    (workspace / "go/inner/store/a.go").write_text("package store\n\nfunc Open() {}\n")
    source = 'package main\n\nimport "example.com/own/inner/store"\n\nfunc run() { store.Open() }\n'
    (workspace / "go/inner/main.go").write_text(source)
    for module, callers in (("example.com/own", ["run"]), ("example.com/other", [])):
        (workspace / "go/go.mod").write_text(f"module {module}\n")
        for path in ("go/inner", "go", ""):
            assert names(ask(CodeRefs(), symbol="Open", path=path).data["rows"]) == callers, (module, path)


# -- code_refs ---------------------------------------------------------------------------------


def test_callers_and_callees(ask: Callable[..., Outcome]) -> None:
    outcome = ask(CodeRefs(), symbol="price_of")
    assert set(names(outcome.data["rows"])) == {"Cart.total", "discount"}
    assert "discount function shop/prices.py:10-11 in=0 out=1" in outcome.text
    assert names(ask(CodeRefs(), symbol="price_of", direction="callees").data["rows"]) == ["_table"]
    assert names(ask(CodeRefs(), symbol="Cart.add_item", direction="callees").data["rows"]) == ["Store.reserve"]


def test_no_callers_is_told_as_none_found(ask: Callable[..., Outcome]) -> None:
    outcome = ask(CodeRefs(), symbol="discount")
    assert outcome.ok
    assert outcome.text.startswith("No callers of discount were found.\n")


def test_an_ambiguous_name_is_the_union_and_says_so(ask: Callable[..., Outcome]) -> None:
    outcome = ask(CodeRefs(), symbol="total")
    assert outcome.data["ambiguous"] is True
    assert set(names(outcome.data["rows"])) == {"check_out", "test_total"}
    assert "[total is ambiguous: 2 symbols have the name, this is of all of them: " in outcome.text
    assert "shop/cart.py::Cart.total" in outcome.text
    for spelled in ("Cart.total", "Cart::total", "shop/cart.py::total", "cart.py::Cart.total", "shop.cart.Cart.total"):
        named = ask(CodeRefs(), symbol=spelled)
        assert named.data["ambiguous"] is False, spelled
        assert set(names(named.data["rows"])) == {"check_out", "test_total"}
    assert names(ask(CodeRefs(), symbol="Shelf.total").data["rows"]) == []


def test_a_package_lends_on_what_lies_deeper_in_it(ask: Callable[..., Outcome]) -> None:
    assert ask(CodeRefs(), symbol="shop.price_of").data["definitions"][0]["path"] == "shop/prices.py"
    assert ask(CodeRefs(), symbol="cart.price_of").error is not None
    assert ask(CodeRefs(), symbol="prices.shop.price_of").error is not None


def test_an_unknown_symbol_is_refused_with_close_names(ask: Callable[..., Outcome]) -> None:
    outcome = ask(CodeRefs(), symbol="pric_of")
    assert outcome.error is not None
    assert outcome.error.code is ErrorCode.NOT_FOUND
    assert outcome.error.message == (
        "no symbol is called 'pric_of' in the 5 files that were read; this is no count of zero. Give a name, Type.name "
        "or path::name; close names: price_of"
    )
    strange = ask(CodeRefs(), symbol="zzzzzz")
    assert strange.error is not None
    assert "close names" not in strange.error.message


def test_at_most_five_close_names(ask: Callable[..., Outcome], workspace: Path) -> None:
    (workspace / "alike.py").write_text("".join(f"def price_{letter}f(): pass\n" for letter in "abcdefgh"))
    outcome = ask(CodeRefs(), symbol="price_xf")
    assert outcome.error is not None
    assert len(outcome.error.message.partition("close names: ")[2].split(", ")) == 5


# -- code_impact -------------------------------------------------------------------------------


def test_impact_walks_backwards_and_lists_tests(ask: Callable[..., Outcome]) -> None:
    outcome = ask(CodeImpact(), symbol="_table")
    hops = {row["name"]: row["hop"] for row in outcome.data["rows"]}
    assert hops == {"price_of": 1, "discount": 2, "Cart.total": 2, "check_out": 3}
    assert {row["name"]: row["hop"] for row in outcome.data["tests"]} == {"test_total": 3}
    assert "hop 1 price_of function shop/prices.py:1-3 in=2 out=1" in outcome.text
    assert "tests that reach it:\nhop 3 test_total function tests/test_cart.py:5-7 in=0 out=2 [test]" in outcome.text
    deeper = ask(CodeImpact(), symbol="_table", depth=4)
    assert set(names(deeper.data["tests"])) == {"test_total", "test_check_out"}
    assert names(ask(CodeImpact(), symbol="_table", depth=1).data["rows"]) == ["price_of"]


def test_impact_of_types_and_constructors(ask: Callable[..., Outcome]) -> None:
    assert set(names(ask(CodeImpact(), symbol="Cart.__init__").data["tests"])) == {"test_total", "test_check_out"}
    base = ask(CodeImpact(), symbol="Store", depth=1)
    assert set(names(base.data["rows"])) == {"Shelf", "Cart.add_item"}
    assert base.data["types"] == 1
    assert "[1 symbols mention it as a type only; code_refs lists them]" in base.text


@pytest.mark.parametrize(("depth", "ok"), [(1, True), (8, True), (0, False), (9, False)])
def test_depth_is_one_to_eight(ask: Callable[..., Outcome], depth: int, ok: bool) -> None:
    assert ask(CodeImpact(), symbol="_table", depth=depth).ok is ok


def test_nothing_reaches_it(ask: Callable[..., Outcome]) -> None:
    outcome = ask(CodeImpact(), symbol="discount")
    assert outcome.text.startswith(
        "Nothing that reaches discount was found, tests apart.\nNo tests that reach it were found.\n"
    )


# -- code_expand -------------------------------------------------------------------------------


def test_the_source_of_a_symbol(ask: Callable[..., Outcome]) -> None:
    outcome = ask(CodeExpand(), symbol="price_of")
    assert outcome.data["source"] == FILES["shop/prices.py"].partition("\n\n\n")[0]
    assert outcome.text.startswith("price_of function shop/prices.py:1-3\n1: def price_of(name):\n")
    assert set(names(outcome.data["callers"])) == {"Cart.total", "discount"}
    assert names(outcome.data["callees"]) == ["_table"]


def test_most_of_a_small_file_is_shown_as_the_whole_file(ask: Callable[..., Outcome]) -> None:
    outcome = ask(CodeExpand(), symbol="Cart")
    assert outcome.data["wholeFile"] == "the whole file is shown: the symbol is 14 of these 25 lines"
    assert "[the whole file is shown: the symbol is 14 of these 25 lines]\n1: " in outcome.text
    assert outcome.data["source"] == FILES["shop/cart.py"].removesuffix("\n")


def test_of_several_the_highest_ranked_is_shown(ask: Callable[..., Outcome]) -> None:
    outcome = ask(CodeExpand(), symbol="total")
    assert outcome.data["definition"]["name"] == "Cart.total"
    assert names(outcome.data["others"]) == ["Shelf.total"]
    assert "2 symbols have the name, the highest ranked is shown, with callers and callees of its own: " in outcome.text


def test_what_one_symbol_has_in_several_places_is_told_together(ask: Callable[..., Outcome], workspace: Path) -> None:
    text = "try:\n    from fast import quick\nexcept ImportError:\n    def quick(): slow()\n\ndef quick(): other()\n"
    text += "def slow(): ...\ndef other(): ...\ndef run(): quick()\n"
    (workspace / "twice.py").write_text(text)
    expanded = ask(CodeExpand(), symbol="quick")
    for direction in ("callers", "callees"):
        refs = ask(CodeRefs(), symbol="quick", direction=direction)
        assert refs.data["ambiguous"] is False
        assert names(refs.data["rows"]) == names(expanded.data[direction])
    assert set(names(expanded.data["callees"])) == {"slow", "other"}
    assert "ambiguous:" not in expanded.text


def test_of_an_ambiguous_name_both_tools_tell_the_same_of_each(ask: Callable[..., Outcome]) -> None:
    expanded = ask(CodeExpand(), symbol="total")
    named = ask(CodeRefs(), symbol="shop/cart.py::Cart.total")
    assert names(expanded.data["callers"]) == names(named.data["rows"])
    assert "the highest ranked is shown, with callers and callees of its own: " in expanded.text


def test_source_whose_lines_end_in_a_carriage_return_alone(ask: Callable[..., Outcome], workspace: Path) -> None:
    (workspace / "old.py").write_bytes(b"import os\r\rdef old_one():\r    return 1\r" + b"x = 1\r" * 9)
    outcome = ask(CodeExpand(), symbol="old_one")
    assert outcome.data["source"] == "def old_one():\n    return 1"
    assert outcome.text.startswith("old_one function old.py:3-4\n3: def old_one():\n4:     return 1\n")


def test_source_is_bounded(ask: Callable[..., Outcome], workspace: Path) -> None:
    body = "".join(f"    x = {number:05}  # {'y' * 80}\n" for number in range(900))
    (workspace / "long.py").write_text(f"def long_one():\n{body}")
    outcome = ask(CodeExpand(), symbol="long_one")
    assert len(outcome.data["source"]) <= MAX_SOURCE_BYTES
    assert outcome.data["cutLines"] == 901 - len(outcome.data["source"].splitlines())
    assert f"[{outcome.data['cutLines']} more lines of it are left out]" in outcome.text
    assert len(outcome.text.encode()) <= CodeExpand.bounds.output_bytes


# -- code_context ------------------------------------------------------------------------------


def test_a_symbol_that_the_task_names(ask: Callable[..., Outcome]) -> None:
    outcome = ask(CodeContext(), task="Make `Cart.add_item` refuse an empty name")
    assert names(outcome.data["rows"])[0] == "Cart.add_item"
    assert outcome.data["confidence"] == "high"
    assert "[confidence high: the first row stands well apart from the rest]" in outcome.text
    assert outcome.data["identifiers"] == ["Cart.add_item"]


def test_prose_is_held_against_names_and_documentation(ask: Callable[..., Outcome]) -> None:
    rows = names(ask(CodeContext(), task="Charging customers twice when they pay").data["rows"])
    assert rows[0] == "check_out"
    rows = names(ask(CodeContext(), task="round the prices of items").data["rows"])
    assert rows[0] == "price_of"


@pytest.mark.parametrize("task", ["please fix it", "zebra giraffe", "¿?", "the and of"])
def test_nothing_rather_than_noise(ask: Callable[..., Outcome], task: str) -> None:
    outcome = ask(CodeContext(), task=task)
    assert outcome.ok
    assert outcome.data["rows"] == []
    assert outcome.data["confidence"] == "low"
    assert outcome.text.startswith("Nothing matched: ")


def test_a_single_hit_is_of_low_confidence(ask: Callable[..., Outcome], workspace: Path) -> None:
    (workspace / "alone.py").write_text("def quixotic(): pass\n")
    outcome = ask(CodeContext(), task="quixotic")
    assert names(outcome.data["rows"]) == ["quixotic"]
    assert outcome.data["confidence"] == "low"


# -- one graph for as long as nothing changes ----------------------------------------------------


def test_a_graph_is_used_again_until_something_changes(
    ask: Callable[..., Outcome], source: Source, workspace: Path, root: Root
) -> None:
    files = FilesGrant(root, [Resource("tree", ".", Effect.READ, real=".")], lambda entry: True)
    ask(CodeMap())
    known = source.answers(files, ".", lambda: None)
    assert source.answers(files, ".", lambda: None) is known
    path = workspace / "shop/prices.py"
    path.write_text(path.read_text() + "\n\ndef extra():\n    return price_of('x')\n")
    outcome = ask(CodeRefs(), symbol="price_of")
    assert set(names(outcome.data["rows"])) == {"Cart.total", "discount", "extra"}
    assert source.answers(files, ".", lambda: None) is not known


def test_a_cancelled_call_ends(source: Source, workspace: Path, root: Root) -> None:
    (workspace / "a.py").write_text("def f(): pass\n")
    files = FilesGrant(root, [Resource("tree", ".", Effect.READ, real=".")], lambda entry: True)

    def check() -> None:
        raise Failure(ErrorCode.CANCELLED, "the call was cancelled")

    with pytest.raises(Failure):
        source.answers(files, ".", check)
    assert len(source.answers(files, ".", lambda: None).most_important()) == 1
