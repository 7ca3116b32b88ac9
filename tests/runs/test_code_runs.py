"""The tools of code intelligence in whole runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fakes.cli import Home, ended, journal

DONE = {"text": "Done."}
TOOLS = "code_map,code_context,code_refs,code_impact,code_expand"
SOURCES = {
    "shop/cart.py": "from shop.prices import price_of\n\n\n"
    "def total(items):\n    return sum(price_of(each) for each in items)\n",
    "shop/prices.py": "def price_of(item):\n    return 1\n",
    "tests/test_cart.py": "from shop.cart import total\n\n\ndef test_total():\n    assert total([1]) == 1\n",
}


def calls(*each: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"calls": [{"tool": tool, "arguments": arguments} for tool, arguments in each]}


def contents(out: Path) -> list[str]:
    return [record["content"] for record in journal(out, "call_settled")]


def test_every_question_about_a_tree(home: Home) -> None:
    for name, text in SOURCES.items():
        home.write(name, text)
    model = home.script(
        calls(("code_map", {}), ("code_context", {"task": "the price of an item"})),
        calls(("code_refs", {"symbol": "price_of"}), ("code_impact", {"symbol": "price_of"})),
        calls(("code_expand", {"symbol": "total"}), ("code_refs", {"symbol": "prize_of"})),
        DONE,
    )
    ran = home.stream("go", "-m", model, "--tools", TOOLS, "-o", str(home.out))
    assert ran.code == 0, ran.stderr
    ended(home.out, 0)
    mapped, context, refs, impact, expand, unknown = contents(home.out)
    assert "price_of function shop/prices.py:1-2 in=1 out=0" in mapped
    assert mapped.endswith("\n[files 3, symbols 3, edges 2, unresolved 1, ambiguous 0]")
    assert context.splitlines()[1].startswith("price_of function ")
    assert refs.splitlines()[1] == "total function shop/cart.py:4-5 in=1 out=1"
    assert "hop 1 total function shop/cart.py:4-5 in=1 out=1" in impact
    assert "hop 2 test_total function tests/test_cart.py:4-5 in=0 out=1 [test]" in impact
    assert "4: def total(items):" in expand
    assert "close names: price_of" in unknown
    decided = [record["decision"]["decide"] for record in journal(home.out, "call_checked")]
    assert decided == ["auto"] * 6
    outcomes = [record["outcome"] for record in journal(home.out, "call_settled")]
    assert outcomes[0]["data"]["tree"]["files"] == 3


def test_rules_hold_for_the_files_of_a_tree(home: Home) -> None:
    for name, text in SOURCES.items():
        home.write(name, text)
    home.write(".env", "KEY=1\n")
    model = home.script(calls(("code_map", {})), calls(("code_expand", {"symbol": "price_of"})), DONE)
    flags = ["--deny", "code_map:path=shop/prices.py", "--deny", "code_expand:path=shop/prices.py"]
    ran = home.stream("go", "-m", model, "--tools", TOOLS, "-o", str(home.out), *flags)
    assert ran.code == 0, ran.stderr
    mapped, expanded = contents(home.out)
    assert "prices" not in mapped
    assert "[skipped: 1 withheld by rules]" in mapped
    assert "not_found" in expanded
    assert "def price_of" not in expanded
