"""Whole runs whose commands may connect to hosts: who reaches what, and what a run says of it."""

from __future__ import annotations

import contextlib
import http.server
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from fakes.cli import REMIT, Home, Ran, ended, journal
from fakes.hardened import BUBBLEWRAP_ALONE, HARDENED, NO_WAY_OUT
from fakes.programs import needs

HOSTS = {"decide": "auto", "hosts": ["site.example"]}


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"come-through"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        return


@contextlib.contextmanager
def site() -> Iterator[int]:
    """A server; its port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def script(home: Home, *commands: str) -> str:
    turns = [{"calls": [{"tool": "shell", "arguments": {"command": each}}]} for each in commands]
    return home.script(*turns, {"text": "Done."})


MACHINES = {"a network namespace": "", "bubblewrap": BUBBLEWRAP_ALONE, "no way out": NO_WAY_OUT}
EACH = pytest.mark.parametrize("by", ["a network namespace", "bubblewrap"])
"""By what makes the namespaces."""


def reaching(home: Home, *commands: str, task: dict[str, Any] | None = None, by: str = "a network namespace") -> Ran:
    needs("curl")
    keys = {"prompt": "Go", "tools": {"shell": HOSTS}, **(task or {})}
    with site() as port:
        home.environ["SITE_PORT"] = str(port)
        arguments = ["-t", home.task(**keys), "-m", script(home, *commands), "-o", str(home.out)]
        return home.ported("site", *arguments, machine=MACHINES[by])


def holds(ran: Ran, by: str = "a network namespace") -> None:
    """Skip where this machine has no network namespace to give."""
    if by == "bubblewrap":
        needs("bwrap")
    network = ran.events[0]["layers"]["network"]
    if by not in network:
        pytest.skip(f"this machine cannot confine commands: {network}")


def data(home: Home) -> list[dict[str, Any]]:
    return [record["outcome"].get("data") for record in journal(home.out, "call_settled")]


def told(ran: Ran) -> list[tuple[Any, ...]]:
    return [
        (event["tool_use_id"], event["host"], event["port"], event["allowed"])
        for event in ran.events
        if event.get("subtype") == "host_reached"
    ]


@EACH
def test_hosts_of_a_tick(home: Home, by: str) -> None:
    ran = reaching(
        home, "curl -sS http://a.site.example/", "curl -sS https://other.example/ http://other.example/x; true", by=by
    )
    holds(ran, by)
    assert ran.result == ended(home.out, 0)
    assert ran.events[0]["layers"]["network"] == f"held: {by}; granted hosts by the proxy: site.example"
    first, second = data(home)
    assert (first["stdout"], "refused_hosts" in first) == ("come-through", False)
    assert second["refused_hosts"] == [
        "other.example:443: commands may connect to these hosts only: site.example",
        "other.example:80: commands may connect to these hosts only: site.example",
    ]
    texts = [record["content"] for record in journal(home.out, "call_settled")]
    assert "[not connected to other.example:443: commands may connect to these hosts only: site.example]" in texts[1]
    calls = [record["id"] for record in journal(home.out, "call_settled")]
    assert told(ran) == [
        (calls[0], "a.site.example", 80, True),
        (calls[1], "other.example", 443, False),
        (calls[1], "other.example", 80, False),
    ]
    assert [(each["host"], each["refused"] == "") for each in journal(home.out, "reached")] == [
        ("a.site.example", True),
        ("other.example", False),
        ("other.example", False),
    ]
    assert ran.result["spent"]["network_requests"] == 1
    assert "  shell connects to a.site.example:80\n" in ran.stderr
    assert "  refused shell other.example:443: commands may connect" in ran.stderr


@EACH
def test_without_granted_hosts_there_is_no_proxy(home: Home, by: str) -> None:
    line = "env | grep -ci proxy; curl -sS -m 5 http://127.0.0.1:20128/ 2>&1"
    ran = reaching(home, line, task={"tools": {"shell": "auto"}}, by=by)
    holds(ran, by)
    assert ran.events[0]["layers"]["network"] == f"held: {by}"
    assert data(home)[0]["stdout"].startswith("0\ncurl: (7)")
    assert told(ran) == []


def test_what_a_deny_of_the_user_takes_back(home: Home) -> None:
    (home.path / "config" / "policy.toml").write_text(
        'version = 1\n[[rule]]\nhost = "secret.site.example"\ndecide = "deny"\nwhy = "not this one"\n'
    )
    ran = reaching(home, "curl -sS http://secret.site.example/", "curl -sS http://site.example/")
    holds(ran)
    first, second = data(home)
    assert "secret.site.example:80 is refused: not this one [user " in first["stdout"]
    assert second["stdout"] == "come-through"


@EACH
def test_checks_have_hosts_of_their_own(home: Home, by: str) -> None:
    needs("curl")
    check = "sh -c 'curl -sS http://site.example/ | grep -q come-through'"
    task = {"tools": {"shell": HOSTS}, "expect": {"checks": [check]}}
    ran = reaching(home, "true", task=task, by=by)
    holds(ran, by)
    assert ran.result["unmet"] == [f"check failed: {check}"] or ran.code != 0


@EACH
def test_network_requests_that_are_spent_end_the_run(home: Home, by: str) -> None:
    line = "curl -sS http://site.example/; curl -sS http://site.example/2; sleep 60"
    began = time.monotonic()
    ran = reaching(home, line, task={"limits": {"network_requests": 1}}, by=by)
    holds(ran, by)
    assert (ran.result["verdict"], ran.result["error_kind"]) == ("budget", "network_requests")
    assert time.monotonic() - began < 30
    assert ended(home.out, ran.code)["spent"]["network_requests"] == 1


def test_a_recorded_run_is_played_without_a_network(home: Home) -> None:
    needs("curl")
    recording = str(home.path / "run.rec")
    task = home.task(prompt="Go", tools={"shell": HOSTS}, limits={"network_requests": 1})
    model = script(home, "curl -sS http://site.example/; curl -sS http://other.example/")
    with site() as port:
        home.environ["SITE_PORT"] = str(port)
        ran = home.ported("site", "-t", task, "-m", model, "-o", str(home.out), "-r", recording)
    holds(ran)
    played = home.run("replay", recording, "--output-format", "stream-json")
    assert played.code == 0, played.stderr
    assert played.result["spent"]["network_requests"] == ran.result["spent"]["network_requests"] == 1


def hardened(home: Home, **environ: str) -> Ran:
    task = home.task(prompt="Go", tools={"shell": HOSTS})
    command = ["run", "--output-format", "stream-json", "-t", task, "-m", script(home, "true"), "-o", str(home.out)]
    done = subprocess.run(
        [*REMIT, *command]
        if environ.get("REMIT_SANDBOX") == "off"
        else [sys.executable, "-c", HARDENED, sys.executable, "-m", "remit", *command],
        cwd=home.work,
        env={**home.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr.decode())


@EACH
def test_what_a_command_is_told_of_the_hosts(home: Home, by: str) -> None:
    """That of the program itself, whichever it is: no host of the world is asked for."""
    lines = ["ls /proc/self/fd | wc -l", "curl -sS http://other.example/ 2>&1; exit 0", SENDS_DATAGRAM]
    task = home.task(prompt="Go", tools={"shell": HOSTS})
    ran = home.stream("-t", task, "-m", script(home, *lines), "-o", str(home.out), machine=MACHINES[by])
    holds(ran, by)
    assert ran.result == ended(home.out, 0)
    assert ran.events[0]["layers"]["network"] == f"held: {by}; granted hosts by the proxy: site.example"
    descriptors, refused, datagram = data(home)
    # Three standard streams, and the directory that is read.
    assert descriptors["stdout"] == "4\n"
    assert refused["refused_hosts"] == ["other.example:80: commands may connect to these hosts only: site.example"]
    assert "Network is unreachable" in datagram["stdout"]


SENDS_DATAGRAM = "(echo x > /dev/udp/192.0.2.1/53) 2>&1; true"
NOWHERE = "seccomp: no sockets at all, which has no way to the granted hosts (site.example): commands reach none"


def test_a_machine_without_network_namespaces(home: Home) -> None:
    ran = hardened(home)
    assert ran.events[0]["layers"]["network"] == f"held: {NOWHERE}"
    texts = [event["text"] for event in ran.events if event.get("subtype") == "notice"]
    assert f"held: {NOWHERE}" in texts[-1]


def test_a_machine_where_nothing_leads_out_of_bubblewrap(home: Home) -> None:
    needs("bwrap")
    ran = reaching(home, "env | grep -ci proxy; cat .env", by="no way out")
    why = "what would lead there from inside bubblewrap says Function not implemented"
    told = f"held: bubblewrap, which has no way to the granted hosts (site.example): commands reach none; {why}"
    assert ran.events[0]["layers"]["network"] == told
    assert [event["text"] for event in ran.events if event.get("subtype") == "notice"] == [told]
    assert data(home)[0]["stdout"].startswith("0\n")


@pytest.mark.parametrize(("machine", "due"), [(BUBBLEWRAP_ALONE, False), (NO_WAY_OUT, True)])
def test_the_doctor_says_where_granted_hosts_are_out_of_reach(home: Home, machine: str, due: bool) -> None:
    needs("bwrap")
    said = home.run("doctor", machine=machine).stdout.decode()
    assert "held: bubblewrap" in said
    assert ("commands reach none: what would lead there from inside bubblewrap says" in said) is due


def test_granted_hosts_that_a_required_sandbox_cannot_have(home: Home) -> None:
    ran = hardened(home, REMIT_SANDBOX="required")
    assert (ran.code, ran.result["error_kind"], home.out.exists()) == (8, "sandbox", False)
    assert NOWHERE in ran.stderr


def test_granted_hosts_without_a_sandbox(home: Home) -> None:
    ran = hardened(home, REMIT_SANDBOX="off")
    due = "not held: no sandbox keeps commands to the granted hosts (site.example)"
    assert ran.events[0]["layers"] == {"sandbox": "off: commands run unconfined", "network": due}
    assert [event["text"] for event in ran.events if event.get("subtype") == "notice"] == [due]


@EACH
def test_a_killed_run_leaves_no_proxy_behind(home: Home, by: str) -> None:
    needs("curl")
    task = home.task(prompt="Go", tools={"shell": HOSTS})
    line = "touch begun; while :; do curl -s http://other.example/ > /dev/null; touch alive; sleep 0.05; done"
    arguments = ("-t", task, "-m", script(home, line), "-o", str(home.out))
    with home.started("run", *arguments, machine=MACHINES[by]) as process:
        deadline = time.monotonic() + 30
        while not (home.work / "alive").exists():
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait(20)
    deadline = time.monotonic() + 10
    while True:
        (home.work / "alive").unlink(missing_ok=True)
        time.sleep(0.3)
        if not (home.work / "alive").exists():
            break
        assert time.monotonic() < deadline


@pytest.mark.parametrize(
    ("arguments", "due"),
    [
        (["--allow", "shell:host=127.0.0.1"], "flag --allow 'shell:host=127.0.0.1': it allows 127.0.0.1"),
        (["--allow", "fetch_url:host=localhost"], "flag --allow 'fetch_url:host=localhost': it allows localhost"),
        (["-p", "{home.work}/p.toml"], "p.toml:3: it allows 10.1.2.3"),
        (["--allow", "shell:host=example.org"], ""),
    ],
)
def test_hosts_that_nothing_is_let_connect_to_are_told(home: Home, arguments: list[str], due: str) -> None:
    home.write("p.toml", 'version = 1\n\n[[rule]]\ndecide = "auto"\nhost = "10.1.2.3"\nwhy = "so"\n')
    ran = home.stream("go", "-m", home.script({"text": "Done."}), *(each.format(home=home) for each in arguments))
    told = [each["text"] for each in ran.events if each.get("subtype") == "notice" and each["kind"] == "rules"]
    assert [due in text and "no command is let connect to" in text for text in told] == [True] * bool(due)


def test_explain_tells_where_commands_may_connect_to(home: Home) -> None:
    task = home.task(prompt="Go", tools={"shell": HOSTS})
    ran = home.run("policy", "explain", "shell", "command=curl x", "-t", task, "--allow", "shell:host=b.example")
    assert ran.code == 0
    assert "commands may connect to b.example: flag --allow 'shell:host=b.example'" in ran.stdout.decode()
    assert "commands may connect to site.example: task " in ran.stdout.decode()
    ran = home.run("policy", "explain", "shell", "command=curl x", "--tools", "shell")
    assert "commands may connect to no host" in ran.stdout.decode()


def test_the_directory_of_a_command_counts_for_its_redirects(home: Home) -> None:
    """A relative path leads from where the command runs, not from the workspace."""
    (home.path / "config" / "policy.toml").write_text(
        'version = 1\n[[rule]]\npath = "docs/kept.md"\ndecide = "deny"\nwhy = "not to be written"\n'
    )
    home.write("docs/kept.md", "kept")
    home.write("sub/kept.md", "free")
    turns = [
        {"tool": "shell", "arguments": {"command": "echo x > kept.md", "workdir": "docs"}},
        {"tool": "shell", "arguments": {"command": "echo x > ../docs/kept.md", "workdir": "sub"}},
        {"tool": "shell", "arguments": {"command": "echo x > kept.md", "workdir": "sub"}},
    ]
    task = home.task(prompt="Go", tools={"shell": "auto"})
    model = home.script(*({"calls": [each]} for each in turns), {"text": "Done."})
    home.stream("-t", task, "-m", model, "-o", str(home.out))
    assert [record["outcome"]["ok"] for record in journal(home.out, "call_settled")] == [False, False, True]
    assert (home.work / "docs" / "kept.md").read_text() == "kept"
    assert (home.work / "sub" / "kept.md").read_text() == "x\n"
