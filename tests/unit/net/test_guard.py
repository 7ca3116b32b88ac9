from __future__ import annotations

import ipaddress
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remit.base.errors import ErrorCode, Failure
from remit.net.guard import (
    LOCAL_DOMAINS,
    MAX_URL_CHARS,
    NOT_PUBLIC,
    check_address,
    check_url,
    normal_host,
)


def refusal(url: str, **options: object) -> Failure:
    with pytest.raises(Failure) as caught:
        check_url(url, **options)  # type: ignore[arg-type]
    return caught.value


# -- normal form -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("http://example.org", "http://example.org/"),
        ("HTTPS://Example.ORG/A/b", "https://example.org/A/b"),
        ("http://example.org.", "http://example.org/"),
        ("http://example.org:80/", "http://example.org/"),
        ("https://example.org:443/", "https://example.org/"),
        ("http://example.org:443/", "http://example.org:443/"),
        ("https://example.org:/x", "https://example.org/x"),
        ("http://example.org?q=1", "http://example.org/?q=1"),
        ("http://example.org/?", "http://example.org/"),
        ("http://example.org/a#part", "http://example.org/a"),
        ("http://example.org#part/../x", "http://example.org/"),
        ("http://example.org/a?b#c?d", "http://example.org/a?b"),
        ("http://example.org/a/./b/../c", "http://example.org/a/c"),
        ("http://example.org/a/..", "http://example.org/"),
        ("http://example.org/../../etc", "http://example.org/etc"),
        ("http://example.org/a/%2e%2E/b", "http://example.org/b"),
        ("http://example.org/%61%7Eb", "http://example.org/a~b"),
        ("http://example.org/a%2fb", "http://example.org/a%2Fb"),
        ("http://example.org/ä?ö=ü", "http://example.org/%C3%A4?%C3%B6=%C3%BC"),
        ("http://example.org/100%", "http://example.org/100%25"),
        ("http://example.org/%4%31", "http://example.org/%2541"),
        ('http://example.org/<">|`{}', "http://example.org/%3C%22%3E%7C%60%7B%7D"),
        ("http://example.org/a?x=../b", "http://example.org/a?x=../b"),
        ("http://example.org/@user:pass@host/", "http://example.org/@user:pass@host/"),
        ("http://bücher.example.org/", "http://xn--bcher-kva.example.org/"),
        ("http://BÜCHER.example.org/", "http://xn--bcher-kva.example.org/"),
        ("http://例え。example.org/", "http://xn--r8jz45g.example.org/"),
        ("http://xn--bcher-kva.example.org/", "http://xn--bcher-kva.example.org/"),
        ("http://a_b.example.org/", "http://a_b.example.org/"),
        ("http://8.8.8.8/", "http://8.8.8.8/"),
        ("http://8.8.8.8./", "http://8.8.8.8/"),
        ("http://134744072/", "http://8.8.8.8/"),
        ("http://0x08.8.2056/", "http://8.8.8.8/"),
        ("http://010.8.8.8/", "http://8.8.8.8/"),
        ("http://[2606:4700:0:0::1111]/", "http://[2606:4700::1111]/"),
        ("https://[2606:4700::1111]:80/", "https://[2606:4700::1111]:80/"),
    ],
)
def test_url_in_normal_form(url: str, normal: str) -> None:
    checked = check_url(url)
    assert checked.url == normal
    assert check_url(normal) == checked


def test_parts_of_a_checked_url() -> None:
    checked = check_url("HTTP://Example.org:443/a b".replace(" ", "%20") + "?q#f")
    assert (checked.scheme, checked.host, checked.port) == ("http", "example.org", 443)
    assert checked.target == "/a%20b?q"
    assert checked.authority == "example.org:443"
    assert check_url("http://[2606:4700::1111]/").host == "2606:4700::1111"
    assert check_url("http://[2606:4700::1111]/").authority == "[2606:4700::1111]"


# -- refusals by spelling --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "empty"),
        ("example.org/page", "https://example.org/page"),
        ("//example.org/", "as in https://example.org/"),
        ("/etc/passwd", "as in https://host/etc/passwd"),
        ("file:///etc/passwd", "'file'"),
        ("gopher://example.org/", "'gopher'"),
        ("ftp://example.org/", "'ftp'"),
        ("data:text/html,hi", "'data'"),
        ("javascript:alert(1)", "'javascript'"),
        ("ws://example.org/", "'ws'"),
        ("view-source:http://example.org/", "'view-source'"),
        ("example.org:80/", "write the scheme"),
        ("http:example.org", "no //"),
        ("http:/example.org", "no //"),
        ("http://", "no host"),
        ("http:///path", "no host"),
        ("http://?q", "no host"),
        ("http://.", "no host"),
        ("http://user@example.org/", "user name or password"),
        ("http://user:secret@example.org/", "user name or password"),
        ("http://@example.org/", "user name or password"),
        ("http://example.org@169.254.169.254/", "user name or password"),
        ("http://example.org:port/", "'port'"),
        ("http://example.org:0/", "'0'"),
        ("http://example.org:65536/", "'65536'"),
        ("http://example.org:-1/", "'-1'"),
        ("http://example.org:\uff18\uff10/", "no number"),
        ("http://example.org:80:80/", "'80:80'"),
        ("http://::1/", "no number"),
        ("http://example.org\\@localhost/", "backslash"),
        ("http:\\\\example.org", "backslash"),
        (" http://example.org/", "white space"),
        ("http://example.org/a b", "white space"),
        ("http://example.org/\u3000", "white space"),
        ("http://exam\tple.org/", "white space"),
        ("http://example.org/\r\nHost: x", "white space"),
        ("http://example.org/\x00", "U+0000"),
        ("http://example.org/\x7f", "U+007F"),
        ("http://exam\u200bple.org/", "U+200B"),
        ("http://example.org/\u202egpj.exe", "U+202E"),
        ("http://example.org/\ud800", "U+D800"),
        ("http://loc%61lhost/", "percent-encoded host"),
        ("http://127.0.0.1%2f/", "percent-encoded host"),
        ("http://\uff11\uff12\uff17.0.0.1/", "look-alike"),
        ("http://\uff45xample.org/", "look-alike"),
        ("http://ⓔxample.org/", "look-alike"),
        ("http://example\uff0eorg/", "look-alike"),
        ("http://xn-.ä\u0338.org/", "international"),
        ("http://exa+mple.org/", "no valid name"),
        ("http://example..org/", "no valid name"),
        ("http://.example.org/", "no valid name"),
        ("http://example.org../", "no valid name"),
        ("http://*.example.org/", "no valid name"),
        ("http://" + "a" * 64 + ".org/", "no valid name"),
        ("http://" + "a." * 126 + "org/", "no valid name"),
        ("http://1.2.3.4.5/", "no valid IPv4"),
        ("http://256.1.1.1/", "no valid IPv4"),
        ("http://1.1.1.256/", "no valid IPv4"),
        ("http://1.16777216/", "no valid IPv4"),
        ("http://4294967296/", "no valid IPv4"),
        ("http://08.8.8.8/", "no valid IPv4"),
        ("http://example.1/", "no valid IPv4"),
        ("http://example.0x1/", "no valid IPv4"),
        ("http://1..1/", "no valid IPv4"),
        ("http://" + "0" * 100 + "/", "no valid IPv4"),
        ("http://[::1/", "brackets"),
        ("http://[::1]x/", "brackets"),
        ("http://[1.2.3.4]/", "no valid IPv6"),
        ("http://[v1.x]/", "no valid IPv6"),
        ("http://[]/", "no valid IPv6"),
        ("http://[fe80::1%25eth0]/", "zone"),
        ("http://[fe80::1%eth0]/", "zone"),
    ],
)
def test_urls_refused_for_their_spelling(url: str, says: str) -> None:
    failure = refusal(url)
    assert failure.code is ErrorCode.URL_REFUSED
    assert says in failure.message


def test_a_password_is_not_repeated() -> None:
    assert "hunter2" not in refusal("https://me:hunter2@example.org/").message


def test_length_limit_is_exact() -> None:
    start = "http://example.org/"
    longest = start + "a" * (MAX_URL_CHARS - len(start))
    assert check_url(longest).url == longest
    assert "2049 characters" in refusal(longest + "a").message
    # What counts is also the encoded form that would go on the wire.
    assert "once encoded" in refusal(start + "ä" * 400).message


def test_longest_host_and_label_pass() -> None:
    host = ".".join(["a" * 63] * 3 + ["b" * 57, "org"])
    assert len(host) == 253
    assert check_url(f"http://{host}/").host == host
    assert refusal(f"http://a{host}/").code is ErrorCode.URL_REFUSED


# -- ports -----------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["http://example.org:8080/", "https://example.org:22/", "http://[2606:4700::1]:8080/"])
def test_port_not_in_the_list(url: str) -> None:
    failure = refusal(url)
    assert failure.code is ErrorCode.PORT_REFUSED
    assert "allowed are only: 80, 443" in failure.message


def test_ports_are_those_of_the_list() -> None:
    assert check_url("http://example.org:8080/", (8080,)).port == 8080
    assert refusal("http://example.org/", allowed_ports=(8080,)).code is ErrorCode.PORT_REFUSED
    assert "only: none" in refusal("http://example.org/", allowed_ports=()).message


# -- local names and addresses as hosts ------------------------------------------------------


@pytest.mark.parametrize("domain", LOCAL_DOMAINS)
def test_local_names_are_refused_without_a_lookup(domain: str) -> None:
    for host in (domain, f"{domain}.", domain.upper(), f"a.{domain}", f"a.b.{domain}."):
        assert refusal(f"http://{host}/").code is ErrorCode.ADDRESS_REFUSED


@pytest.mark.parametrize("host", ["server", "metadata", "com", "xn--bcher-kva", "bücher"])
def test_names_without_a_domain_are_refused(host: str) -> None:
    failure = refusal(f"http://{host}/")
    assert failure.code is ErrorCode.ADDRESS_REFUSED
    assert "without a domain" in failure.message


@pytest.mark.parametrize("host", ["notlocalhost.org", "mylocal.org", "internal.example.org", "lan.example"])
def test_names_that_only_look_local_pass(host: str) -> None:
    assert check_url(f"http://{host}/").host == host


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0X7F.1",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "0x7f.0x0.0x0.0x1",
        "127.0.0.1.",
        "0",
        "0x",
        "0.0.0.0",
        "10.0.0.1",
        "012.1.2.3",
        "192.168.0.1",
        "3232235521",
        "169.254.169.254",
        "2852039166",
        "0251.0376.0251.0376",
        "127。0。0。1",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:10.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::a00:1]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[fc00::1]",
        "[fd00:ec2::254]",
    ],
)
def test_private_addresses_are_refused_in_any_spelling(host: str) -> None:
    assert refusal(f"http://{host}/").code is ErrorCode.ADDRESS_REFUSED


def test_the_range_of_a_refused_address_is_named() -> None:
    assert "link-local range, where cloud metadata services are 169.254.0.0/16" in refusal("http://2852039166/").message


# -- addresses -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("10.255.255.255", "private"),
        ("100.64.0.0", "carrier-grade NAT"),
        ("100.127.255.255", "carrier-grade NAT"),
        ("127.255.255.255", "loopback"),
        ("168.63.129.16", "cloud platform"),
        ("169.254.169.254", "metadata"),
        ("172.16.0.0", "private"),
        ("172.31.255.255", "private"),
        ("192.0.0.8", "reserved"),
        ("192.0.2.1", "documentation"),
        ("192.88.99.1", "reserved"),
        ("192.168.255.255", "private"),
        ("198.18.0.1", "benchmarking"),
        ("198.19.255.255", "benchmarking"),
        ("198.51.100.1", "documentation"),
        ("203.0.113.1", "documentation"),
        ("224.0.0.1", "multicast"),
        ("239.255.255.255", "multicast"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "broadcast"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("::8.8.8.8", "embeds"),
        ("::ffff:8.8.8.8", "embeds"),
        ("::ffff:0:8.8.8.8", "embeds"),
        ("64:ff9b::8.8.8.8", "NAT64"),
        ("64:ff9b::a00:1", "NAT64"),
        ("64:ff9b:1::a00:1", "NAT64"),
        ("100::1", "reserved"),
        ("2001::1", "Teredo"),
        ("2001:2::1", "benchmarking"),
        ("2001:10::1", "reserved"),
        ("2001:db8::1", "documentation"),
        ("2002:808:808::1", "6to4"),
        ("3fff::1", "documentation"),
        ("fc00::1", "private"),
        ("fdff::1", "private"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "zone"),
        ("fec0::1", "site-local"),
        ("ff02::1", "multicast"),
        ("2606:4700::5efe:a00:1", "ISATAP"),
        ("2606:4700::200:5efe:a00:1", "ISATAP"),
        ("5f00::1", "not public"),
        ("4000::1", "not public"),
        ("1fff::1", "not public"),
        ("example.org", "no IP address"),
        ("", "no IP address"),
        ("127.1", "no IP address"),
    ],
)
def test_addresses_that_are_not_public(address: str, reason: str) -> None:
    assert reason in (check_address(address) or "")


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "93.184.216.34",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.1",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2606:4700::1111",
        "2a00:1450:4001::1",
    ],
)
def test_public_addresses_pass(address: str) -> None:
    assert check_address(address) is None


@given(st.ip_addresses())
def test_what_passes_is_global_and_embeds_nothing(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    if check_address(str(address)) is not None:
        return
    assert address.is_global
    assert not (address.is_multicast or address.is_private or address.is_loopback or address.is_link_local)
    assert not (address.is_reserved or address.is_unspecified)
    if isinstance(address, ipaddress.IPv6Address):
        assert (address.ipv4_mapped, address.sixtofour, address.teredo) == (None, None, None)


@given(st.sampled_from([network for network, _ in NOT_PUBLIC]), st.integers(min_value=0))
def test_nothing_in_a_refused_range_passes(network: str, offset: int) -> None:
    parsed = ipaddress.ip_network(network)
    assert check_address(str(parsed[offset % parsed.num_addresses]))


@given(st.ip_addresses(v=4))
def test_every_spelling_of_an_address_is_that_address(address: ipaddress.IPv4Address) -> None:
    first, second, third, fourth = address.packed
    number = int(address)
    spellings = [
        str(address),
        f"{first}.{second}.{third << 8 | fourth}",
        f"{first}.{number & 0xFFFFFF}",
        str(number),
        hex(number),
        f"0{number:o}",
        f"0x{first:x}.0{second:o}.{third}.0x{fourth:02X}",
    ]
    assert {normal_host(spelling) for spelling in spellings} == {str(address)}


# -- properties ------------------------------------------------------------------------------

_WORDS = (
    "http https file :// / // . .. : @ # ? % %2e %2F %zz [ ] [::1] example.org localhost 127.0.0.1 0x7f 80 443 8080"
    " a é \uff11 \\ ; = & + ~ _ - xn--a \u200b \ud800 。"
)
_PIECES = st.sampled_from([*_WORDS.split(), " ", "\t"])


@given(st.lists(_PIECES, max_size=12).map("".join) | st.text(max_size=60).map("http://example.org/".__add__))
@example("http://example.org/%")
@example("http://example.org//..//%2e%2e/..")
def test_whatever_passes_is_stable_and_safe(url: str) -> None:
    try:
        checked = check_url(url)
    except Failure as failure:
        assert failure.code in {ErrorCode.URL_REFUSED, ErrorCode.PORT_REFUSED, ErrorCode.ADDRESS_REFUSED}
        return
    assert check_url(checked.url) == checked
    assert checked.url.isascii()
    assert set(checked.url) <= set(string.ascii_letters + string.digits + "-._~:/?[]@!$&'()*+,;=%")
    assert checked.scheme in {"http", "https"}
    assert checked.port in {80, 443}
    assert checked.target.startswith("/")
    assert not {".", ".."} & set(checked.target.partition("?")[0].split("/"))
    assert "@" not in checked.authority


# -- hosts alone ------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["", "a b", "a/b", "a@b", "*.org", "example.org:80", "http://a.org"])
def test_what_is_no_host_is_said_at_load(host: str) -> None:
    with pytest.raises(Failure) as caught:
        normal_host(host)
    assert caught.value.code is ErrorCode.URL_REFUSED
