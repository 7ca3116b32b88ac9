from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.net.extract import MAX_TITLE_CHARS, readable


def text(html: str) -> str:
    return readable(html).text


# -- marks -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("", ""),
        ("plain", "plain"),
        ("<p>one</p><p>two</p>", "one\n\ntwo"),
        ("<div>one</div><div>two</div>", "one\ntwo"),
        ("<p>one\n  two\t three&nbsp;four</p>", "one two three four"),
        ("<p>a <b>b</b><i>c</i> <span> d</span></p>", "a bc d"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("one<hr>two", "one\n\n---\n\ntwo"),
        ("&lt;b&gt; &amp;amp; &copy; &#8364; &#x1F600;", "<b> &amp; © € \U0001f600"),
        ("".join(f"<h{level}>t{level}</h{level}>" for level in range(1, 7)), None),
        ("<h2>a <em>b</em><br>c</h2>x", "## a b c\n\nx"),
        ("<h2></h2><p>x", "x"),
        ("<h3><button>Question?</button></h3>Answer", "### Question?\n\nAnswer"),
        ("<ul><li>a</li><li>b</li></ul>c", "- a\n- b\n\nc"),
        ("<ol><li>a<li>b</ol>", "1. a\n2. b"),
        ("<ol start=9><li>a<li value=20>b<li>c</ol>", "9. a\n20. b\n21. c"),
        ("<ol start=x><li value=-1>a</ol>", "-1. a"),
        ("<ul><li>a<ul><li>b<ol><li>c</ol></ul><li>d</ul>", "- a\n  - b\n    1. c\n- d"),
        ("<ul><li><p>a</p><p>b</p></li><li></li><li>c</ul>", "- a\n\n  b\n\n- c"),
        ("<li>stray", "- stray"),
        ("<blockquote><p>a<br>b</blockquote>c", "> a\n> b\n\nc"),
        ("<dl><dt>term<dd>meaning<dt>other<dd>one</dl>", "term\n  meaning\nother\n  one"),
        ("use <code>x = 1</code> or <kbd>y</kbd>", "use `x = 1` or y"),
        ("<pre>a\n  b &lt;c&gt;\n</pre>d", "```\na\n  b <c>\n```\n\nd"),
        ("<pre><code>a\n\n\nb</code></pre>", "```\na\n\n\nb\n```"),
        ("<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````"),
        ("<pre>a<br>b</pre>", "```\na\nb\n```"),
        ("<pre> \n </pre>x", "x"),
        ("10<sup>6</sup> and note<sup>[1]</sup>, H<sub>2</sub>O", "10^6 and note[1], H2O"),
        ("<q>said</q>", '"said"'),
        ('<a href="https://other.example/x">site</a>.', "site (https://other.example/x)."),
        ('<a href="/x">near</a> <a href="#y">here</a> <a>none</a>', "near here none"),
        ('<a href="javascript:alert(1)">x</a> <a href="mailto:a@b.c">y</a>', "x y"),
        ('<a href="https://other.example/"></a>x', "x"),
        ('<a href="https://other.example/"><h2>Card</h2></a>x', "## Card (https://other.example/)\n\nx"),
        ('<a href="https://other.example/' + "x" * 300 + '">long</a>', "long"),
        ("<details><summary>more</summary>inside</details>", "more\ninside"),
        ("<figure>x<figcaption>caption</figcaption></figure>", "x\ncaption"),
        (
            "soft&shy;hyphen zero&#8203;width bidi&#8238;override tag\U000e0041s",
            "softhyphen zerowidth bidioverride tags",
        ),
        ("family: \U0001f468\u200d\U0001f469", "family: \U0001f468\u200d\U0001f469"),
    ],
)
def test_marks(html: str, expected: str | None) -> None:
    if expected is None:
        expected = "\n\n".join(f"{'#' * level} t{level}" for level in range(1, 7))
    assert text(html) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (
            "<table><tr><th>Region<th>Total<tr><td>North<td>1,000<tr><td>South|East<td> 2 </table>",
            "| Region | Total |\n| --- | --- |\n| North | 1,000 |\n| South\\|East | 2 |",
        ),
        ("<table><tr><td>a<td>b</table>", "| a | b |"),
        ("<table><tr><th>a<td>b<tr><td>c<td>d</table>", "| a | b |\n| c | d |"),
        ("<table><tr><td>a<td><p>b</p><p>c</p></table>", "| a | b c |"),
        ("<table><caption>Sums</caption><tr><td>a<td>b</table>", "Sums\n| a | b |"),
        ("<table><tr><td colspan=2>a<td>b<tr><td>c<td>d<td>e</table>", "| a |  | b |\n| c | d | e |"),
        ("<table><tr><td rowspan=2>a<td>b<tr><td>c<tr><td>d<td>e</table>", "| a | b |\n|  | c |\n| d | e |"),
        ("<table><tr><td>only<tr><td>one column</table>", "only\none column"),
        ("<table role=presentation><tr><td>a<td>b</table>", "a\nb"),
        ("<table><tr><td><h1>Title</h1><p>text<td>side</table>", "# Title\n\ntext\nside"),
        ("<table><tr><td>x<td><table><tr><td>a<td>b</table></table>", "x\n| a | b |"),
        ("<table><tr><td><ul><li>a</ul><td>b</table>", "| - a | b |"),
        ("<table><tr></table>x", "x"),
        ("<td>stray</td>", "stray"),
    ],
)
def test_tables(html: str, expected: str) -> None:
    assert text(html) == expected


# -- what is dropped -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "html",
    [
        "<script>GONE</script>",
        "<style>GONE</style>",
        "<noscript>GONE</noscript>",
        "<template>GONE</template>",
        "<iframe>GONE</iframe>",
        "<object>GONE</object>",
        "<embed src=GONE>",
        "<svg><text>GONE</text></svg>",
        "<canvas>GONE</canvas>",
        "<video>GONE</video>",
        "<audio>GONE</audio>",
        "<img alt=GONE>",
        "<math><mi>GONE</mi></math>",
        "<select><option>GONE</select>",
        "<textarea>GONE</textarea>",
        "<input value=GONE>",
        "<button>GONE</button>",
        "<progress>GONE</progress>",
        "<!-- GONE -->",
        "<head><meta content=GONE><link title=GONE></head>",
        "<title>GONE</title>",
        "<div hidden>GONE</div>",
        "<div hidden=''><p>GONE</p></div>",
        "<span hidden>GONE</span>",
        "<b hidden>GONE</b>",
        "<p style='color: red; Display : NONE'>GONE</p>",
        "<p style='visibility:hidden'>GONE</p>",
        "<p aria-hidden=true>GONE</p>",
        "<dialog>GONE</dialog>",
    ],
)
def test_what_no_reader_sees_is_dropped(html: str) -> None:
    assert text(f"<p>before</p>{html}<p>after</p>") == "before\n\nafter"


@pytest.mark.parametrize(
    "html",
    [
        "<dialog open>KEPT</dialog>",
        "<div hidden=until-found>KEPT</div>",
        "<p aria-hidden=false>KEPT</p>",
        "<form>KEPT</form>",
        "<label>KEPT</label>",
        "<svg>KEPT",
        "<p style='display:block'>KEPT</p>",
    ],
)
def test_what_a_reader_sees_is_kept(html: str) -> None:
    assert "KEPT" in text(f"<p>before</p>{html}<p>after</p>")


# -- main content ----------------------------------------------------------------------------

FRAME = """
<header><a href=/>Site</a></header><nav><ul><li>Home</ul></nav>
{main}
<aside>Ads</aside><footer>Imprint</footer>
"""


@pytest.mark.parametrize(
    "main",
    [
        "<main>{}</main>",
        "<div role=main>{}</div>",
        "<main><article>{}</article></main>",
        "<div><main>{}</main></div>",
        "<article>{}</article>",
        "<main hidden>x</main><main>{}</main>",
        "<nav><article>teaser</article></nav><article>{}</article>",
    ],
)
def test_marked_main_content_leaves_the_rest_out(main: str) -> None:
    body = "<h1>News</h1><nav>On this page</nav><p>Long enough to be what the page is about.</p><footer>Tags</footer>"
    found = readable(FRAME.format(main=main.format(body)))
    assert found.marked
    assert found.text == "# News\n\nLong enough to be what the page is about."


@pytest.mark.parametrize("role", ["navigation", "contentinfo"])
def test_roles_mark_navigation_and_footers_too(role: str) -> None:
    assert text(f"<main>x<div role={role}>gone</div></main>") == "x"


def test_several_articles_stand_one_after_another() -> None:
    page = "<nav>Menu</nav>" + "".join(f"<article><h2>Post {number}</h2>text</article>" for number in (1, 2))
    assert text(page) == "## Post 1\n\ntext\n\n## Post 2\n\ntext"


@pytest.mark.parametrize(
    "main",
    ["<div>{}</div>", "<main></main><div>{}</div>", "<main><script>app()</script></main>{}", "<main hidden>x</main>{}"],
)
def test_a_page_without_marked_content_is_kept_whole(main: str) -> None:
    found = readable(FRAME.format(main=main.format("<p>text</p>")))
    assert not found.marked
    for word in ("Site", "- Home", "text", "Ads", "Imprint"):
        assert word in found.text


def test_an_article_that_is_a_small_part_is_not_the_main_content() -> None:
    found = readable("<article>teaser</article>" + "<p>what the page is about</p>" * 5)
    assert not found.marked
    assert "what the page is about" in found.text
    assert "teaser" in found.text


# -- title -----------------------------------------------------------------------------------


def test_title_is_one_line_of_bounded_length() -> None:
    assert readable("<title> A &amp;\n B &#8203;</title>").title == "A & B"
    assert readable("<p>x").title == ""
    assert len(readable(f"<title>{'x' * 1000}</title>").title) == MAX_TITLE_CHARS


# -- bounds ----------------------------------------------------------------------------------

MIB = 1024 * 1024


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * (MIB // 5) + "deep",
        "<div>" * 10_000 + "deep" + "</div>" * 10_000,
        "<blockquote>" * 10_000 + "deep",
        "<ul><li>" * 10_000 + "deep",
        "<table><tr><td>" * 10_000 + "deep",
        "<span hidden=until-found>" * 10_000 + "deep",
        "<div " + " ".join(f"a{number}" for number in range(100_000)) + ">deep",
        "<p>" + "".join(f"<b id={number}>" for number in range(2_000)) + "</p><p>deep" * 100,
        "<svg>" * 100_000 + "deep",
        "</x>" * 100_000 + "deep",
        "<" * MIB + " deep",
        "<!--" * 100_000 + "-->deep",
    ],
    ids=lambda html: html[:12],
)
def test_hostile_pages_are_read_in_bounded_time(html: str) -> None:
    began = time.process_time()
    found = readable(html, seconds=60)
    # Seconds at worst, where a parser on its own takes minutes.
    assert time.process_time() - began < 15
    assert found.text.endswith("deep")
    assert not found.cut


def test_a_page_too_slow_to_read_is_cut() -> None:
    began = time.process_time()
    found = readable("<p>x</p>" * 200_000, seconds=0.05)
    assert time.process_time() - began < 5
    assert found.cut


def test_spans_do_not_multiply() -> None:
    cells = "<td colspan=1000 rowspan=1000>x" * 500
    assert len(text(f"<table>{f'<tr>{cells}' * 20}</table>")) < MIB


_NAMES = (
    "div p span a b li ul ol td th tr table caption h1 section code q sup x-y details dl dd dt hr br center blockquote"
    " pre"
)
_TAGS = st.builds("<{}{}>".format, st.sampled_from(["", "", "/"]), st.sampled_from(_NAMES.split()))


@given(st.lists(_TAGS | st.just(" w "), max_size=40))
def test_no_visible_text_is_lost(pieces: list[str]) -> None:
    words = [f"w{index}w" for index, piece in enumerate(pieces) if piece == " w "]
    html = "".join(f" w{index}w " if piece == " w " else piece for index, piece in enumerate(pieces))
    # A table's stray text moves before it, as in every browser; nothing disappears or doubles.
    assert sorted(re.findall(r"w\d+w", text(html))) == sorted(words)


@given(st.text(max_size=200))
def test_any_text_is_read(html: str) -> None:
    readable(html)


@given(st.text(alphabet="abc &<>#*-|`1.\n", max_size=100))
def test_text_comes_back_from_its_escaped_form(raw: str) -> None:
    escaped = raw.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert text(f"<p>{escaped}</p>") == " ".join(re.split(r"[ \n]+", raw)).strip()
