from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from remit.base.errors import Faults
from remit.base.limits import Limits
from remit.base.resources import Effect
from remit.base.spec import Expect, PolicySource, Price, RunSpec, Source, Tick
from remit.config.asked import StdinWish, with_stdin_block
from remit.config.flags import RunFlags
from remit.config.models import resolve_models
from remit.config.resolve import build_spec
from remit.config.settings import Settings

EFFECTS = {
    "list_files": frozenset({Effect.READ}),
    "read_file": frozenset({Effect.READ}),
    "search_files": frozenset({Effect.READ}),
    "write_artifact": frozenset({Effect.WRITE}),
    "fetch_url": frozenset({Effect.NETWORK}),
    "file_read": frozenset({Effect.READ}),
    "todo_write": frozenset({Effect.STATE}),
    "shell": frozenset({Effect.EXECUTE}),
}


@dataclass(frozen=True)
class Stdin:
    data: bytes = b""
    state: Literal["none", "read", "skipped", "ignored"] = "none"


class Desk:
    """A directory with a user's configuration, and a way to build specs there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wishes: list[StdinWish] = []
        (folder / "config").mkdir()

    def write(self, name: str, text: str | bytes) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(path)

    def task(self, text: str) -> str:
        return self.write("t.yaml", "version: 1\n" + text)

    def spec(self, came: Stdin | None = None, settings: dict[str, Any] | None = None, **flags: Any) -> RunSpec:
        found = came or Stdin()

        def read_stdin(wish: StdinWish) -> Stdin:
            self.wishes.append(wish)
            return Stdin(b"", "ignored") if wish == "never" else found

        base = {"config_dir": str(self.folder / "config"), "state_dir": str(self.folder / "state")}
        chosen = Settings(**{**base, **(settings or {})})
        return build_spec(RunFlags(**flags), chosen, EFFECTS, read_stdin, str(self.folder))

    def faults(self, **given: Any) -> list[str]:
        with pytest.raises(Faults) as caught:
            self.spec(**given)
        return [str(fault).replace(f"{self.folder}/", "") for fault in caught.value.faults]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_prompt_alone_reads_the_current_directory(desk: Desk) -> None:
    assert desk.spec(prompt="hi") == RunSpec(
        prompt="hi",
        workspace=str(desk.folder),
        ticks={name: Tick("auto", (), "default") for name in ("file_read", "todo_write")},
    )


def test_a_flag_takes_no_tool_away_that_a_promise_needs(desk: Desk) -> None:
    task = desk.task("prompt: p\ntools: {read_file: auto, write_artifact: auto}\nexpect: {artifacts: [a.md]}\n")
    assert desk.faults(task=task, tools=("read_file",)) == [
        "--tools: the task promises artifacts, and this offers no write_artifact (add write_artifact to it)"
    ]
    assert set(desk.spec(task=task, tools=("write_artifact",)).ticks) == {"write_artifact"}


def test_a_task_file_and_settings_make_a_spec(desk: Desk) -> None:
    (desk.folder / "data").mkdir()
    path = desk.task(
        "name: n\nprompt: 'Do {{x}}'\ninputs: {x: {default: it}}\nworkspace: data\n"
        "tools: {read_file: ask, write_artifact: auto}\nlimits: {turns: 3}\n"
        "memory: {enabled: true, proposals: true}\nexpect: {artifacts: [a.md]}\non_ask: stop\n"
        "on_deny: fail\n"
    )
    prices = {"openai/m": Price(1.0, 2.0)}
    settings = {"model": "ollama/m", "fetch_allowed_ports": (8080,), "retry_seconds": 5.0, "prices": prices}
    settings |= {"python_worker": "/opt/worker", "sandbox": "required"}
    assert desk.spec(task=path, settings=settings) == RunSpec(
        name="n",
        task=path,
        prompt="Do it",
        workspace=str(desk.folder / "data"),
        model="ollama/m",
        ticks={"read_file": Tick("ask", (), f"{path}:6"), "write_artifact": Tick("auto", (), f"{path}:6")},
        limits=Limits(turns=3),
        memory_enabled=True,
        memory_proposals=True,
        expect=Expect(artifacts=("a.md",)),
        on_ask="stop",
        on_deny="fail",
        fetch_allowed_ports=(8080,),
        python_worker="/opt/worker",
        retry_seconds=5.0,
        sandbox="required",
        prices=prices,
        models=resolve_models(["ollama/m"], "/nowhere")[0],
        files={path: hashlib.sha256(Path(path).read_bytes()).hexdigest()},
    )


def test_flags_go_before_the_task(desk: Desk) -> None:
    path = desk.task("prompt: p\nmodel: groq/m\ntools: {read_file: auto}\nlimits: {turns: 3, calls: 4}\non_ask: stop\n")
    (desk.folder / "w").mkdir()
    spec = desk.spec(
        task=path, prompt="q", model="openai/m", tools=("list_files",), limits={"turns": "9", "artifact_bytes": "2KiB"},
        workspace="w", on_ask="deny", on_deny="fail", allow=("a",), deny=("b",), settings={"model": "ollama/m"},
    )  # fmt: skip
    assert (spec.prompt, spec.model, spec.workspace) == ("q", "openai/m", str(desk.folder / "w"))
    assert spec.ticks == {"list_files": Tick("auto", (), "--tools 'list_files'")}
    assert spec.limits == Limits(turns=9, calls=4, artifact_bytes=2048)
    assert (spec.on_ask, spec.on_deny, spec.allow, spec.deny) == ("deny", "fail", ("a",), ("b",))


def test_the_models_order(desk: Desk) -> None:
    path = desk.task("prompt: p\nmodel: groq/m\n")
    settings = {"model": "ollama/m"}
    assert desk.spec(task=path, settings=settings).model == "groq/m"
    assert desk.spec(prompt="p", settings=settings).model == "ollama/m"
    assert desk.spec(prompt="p").model == ""
    assert desk.faults(prompt="p", model="a b") == ["-m: expected PROVIDER/NAME, seen 'a b'"]
    assert desk.faults(prompt="p", model="") == ["-m: the model's name is empty"]


def test_a_task_without_ticks_offers_no_tools(desk: Desk) -> None:
    assert desk.spec(task=desk.task("prompt: p\n")).ticks == {}


def test_ticks_from_the_command_line(desk: Desk) -> None:
    path = desk.task(
        "prompt: p\ntools: {fetch_url: {decide: auto, hosts: [example.com]}, read_file: ask, list_files: auto}\n"
    )

    def ticks(*tools: str, task: str | None = path) -> dict[str, tuple[str, tuple[str, ...]]]:
        prompt = None if task else "p"
        return {n: (t.decide, t.hosts) for n, t in desk.spec(task=task, prompt=prompt, tools=tools).ticks.items()}

    assert ticks("fetch_url, read_file") == {"fetch_url": ("auto", ("example.com",)), "read_file": ("ask", ())}
    assert ticks("fetch_url=auto") == {"fetch_url": ("auto", ("example.com",))}
    assert ticks("fetch_url=ask", "read_file=auto") == {"fetch_url": ("ask", ()), "read_file": ("auto", ())}
    assert ticks("") == {}
    assert ticks("shell", "write_artifact", "fetch_url", "read_file", task=None) == {
        "shell": ("ask", ()),
        "write_artifact": ("auto", ()),
        "fetch_url": ("auto", ()),
        "read_file": ("auto", ()),
    }
    assert ticks("shell=auto", task=None) == {"shell": ("auto", ())}


def test_bad_ticks_from_the_command_line(desk: Desk) -> None:
    names = "tools: fetch_url, file_read, list_files, read_file, search_files, shell, todo_write, write_artifact"
    assert desk.faults(prompt="p", tools=("read_fil,list_files=yes", "=auto")) == [
        f"--tools 'read_fil': unknown tool 'read_fil' (did you mean `read_file`? {names})",
        "--tools 'list_files=yes': expected auto | ask | deny, seen 'yes'",
        f"--tools '=auto': unknown tool '' ({names})",
    ]
    assert desk.faults(prompt="p", tools=("shell=deny", "shell=auto,read_file", "Read", "shell")) == [
        "--tools 'shell=auto': shell is auto here, and deny by --tools 'shell=deny' (name it once)",
        "--tools 'shell': shell is ask here, and deny by --tools 'shell=deny' (name it once)",
    ]
    assert set(desk.spec(prompt="p", tools=("shell=auto", "shell=auto")).ticks) == {"shell"}


def test_limits_from_the_command_line(desk: Desk) -> None:
    limits = {
        "turns": "1", "seconds": "0.5", "tokens": "none", "usd": "2", "calls": "none", "network_requests": "0",
        "artifact_bytes": "500KB", "artifacts_total_bytes": "none",
    }  # fmt: skip
    assert desk.spec(prompt="p", limits=limits).limits == Limits(
        turns=1,
        seconds=0.5,
        usd=2.0,
        calls=None,
        network_requests=0,
        artifact_bytes=500_000,
        artifacts_total_bytes=None,
    )
    assert desk.faults(
        prompt="p", limits={"turns": "0", "artifact_bytes": "0.5B", "usd": "1e999", "seconds": "nan"}
    ) == [
        "--max-turns: `turns`: expected a whole number of at least 1 or none, seen 0",
        "--max-artifact-bytes: `artifact_bytes`: expected a size such as 500KB or 1MiB, of whole bytes, seen '0.5B'",
        "--max-usd: `usd`: expected a number above 0 or none, seen '1e999'",
        "--max-seconds: `seconds`: expected a number above 0 or none, seen 'nan'",
    ]


def test_inputs_fill_the_prompt_once(desk: Desk) -> None:
    path = desk.task(
        "prompt: '{{a}} {{ b }} {{n}} {{f}} {{t}} {{a}} {c} {{1}}'\n"
        "inputs: {a: {}, b: {default: '{{a}}'}, n: {type: integer, default: 7}, f: {type: number, default: 0.5},"
        " t: {type: boolean, default: true}}\n"
    )
    assert desk.spec(task=path, inputs=("a={{b}}=\\1",)).prompt == "{{b}}=\\1 {{a}} 7 0.5 true {{b}}=\\1 {c} {{1}}"
    filled = desk.spec(task=path, inputs=("a=", "b=x", "n=-8", "f=1e3", "t=false")).prompt
    assert filled == " x -8 1e3 false  {c} {{1}}"


def test_bad_inputs(desk: Desk) -> None:
    path = desk.task(
        "prompt: '{{file}}{{need}}'\ninputs: {file: {default: x}, need: {}, n: {type: integer, default: 1},"
        " f: {type: number, default: 1}, t: {type: boolean, default: true}}\n"
    )
    assert desk.faults(task=path, inputs=("fiel=1", "x", "file=1", "file=2", "n=1.5", "f=nan", "t=yes")) == [
        "-i 'fiel=1': the task has no input 'fiel' (did you mean `file`?)",
        "-i 'x': an input is written KEY=VALUE",
        "-i 'file=2': the input `file` is given twice",
        "-i 'n=1.5': `n`: expected a whole number, seen '1.5'",
        "-i 'f=nan': `f`: expected a number, seen 'nan'",
        "-i 't=yes': `t`: expected true or false, seen 'yes'",
        "t.yaml:2: the input `need` has no value (give it with -i need=VALUE)",
    ]


def test_a_prompt_of_the_command_line_is_taken_as_it_is(desk: Desk) -> None:
    path = desk.task("prompt: '{{need}}'\ninputs: {need: {}}\n")
    assert desk.spec(task=path, prompt="a {{need}}").prompt == "a {{need}}"
    assert desk.spec(task=path, prompt_file=desk.write("p.md", "b {{need}}")).prompt == "b {{need}}"
    assert desk.faults(task=path, prompt="p", inputs=("need=1",)) == [
        "-i 'need=1': inputs fill in the prompt of a task file, and this run does not use one"
        " (a prompt from the command line is taken as it is)"
    ]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"prompt": " \n"}, "PROMPT: the prompt is empty"),
        ({"prompt_file": "empty.md"}, "empty.md: the prompt is empty"),
        ({"prompt_file": "latin.md"}, "latin.md:2: not valid UTF-8: byte 0xed at byte offset 2"
                                      " (save the file as UTF-8)"),
        ({"prompt_file": "none.md"}, "none.md: there is no such file (paths are taken from the current directory)"),
        ({"prompt_file": "config"}, "config: this is a directory, not a file"),
        ({"prompt": "a", "prompt_file": "p.md"}, "--prompt-file: a prompt and a prompt file are given"
                                                 " (give one of them)"),
        ({"prompt": "é\udce9"}, "PROMPT: not valid UTF-8: the byte 0xe9 at byte offset 2 (arguments are UTF-8 text)"),
        ({"prompt": "a\ud83d"}, "PROMPT: not valid UTF-8: the lone surrogate U+D83D at byte offset 1"
                                " (arguments are UTF-8 text)"),
        ({}, "there is no prompt (give one as an argument, with --prompt-file, in a task file, or on standard input)"),
    ],
)  # fmt: skip
def test_bad_prompts(desk: Desk, monkeypatch: pytest.MonkeyPatch, flags: dict[str, str], expected: str) -> None:
    monkeypatch.chdir(desk.folder)
    desk.write("empty.md", "\n")
    desk.write("latin.md", b"a\n\xed\xa0\xbd")
    desk.write("p.md", "p")
    assert desk.faults(**flags) == [expected]


def test_a_prompt_that_inputs_leave_empty(desk: Desk) -> None:
    path = desk.task("prompt: '{{x}}'\ninputs: {x: {}}\n")
    assert desk.faults(task=path, inputs=("x= ",)) == ["t.yaml:2: the prompt is empty once its inputs are filled in"]


def test_a_prompt_of_any_size_by_file(desk: Desk) -> None:
    text = "long " * 500_000
    assert desk.spec(prompt_file=desk.write("p.md", text)).prompt == text


@pytest.mark.parametrize("flags", [{"prompt": "-"}, {"prompt_file": "-"}, {}])
def test_standard_input_is_the_prompt(desk: Desk, flags: dict[str, str]) -> None:
    spec = desk.spec(came=Stdin("\ufeffhé".encode(), "read"), **flags)
    assert (spec.prompt, spec.stdin, desk.wishes) == ("hé", "read", ["whole"])
    with pytest.raises(Faults, match="there is no prompt"):
        desk.spec(came=Stdin(b" \n", "read"), **flags)


@pytest.mark.parametrize(
    ("rule", "flag", "wish"),
    [
        ("optional", None, "offered"), ("optional", True, "whole"), ("optional", False, "never"),
        ("required", None, "offered"), ("required", True, "whole"),
        ("ignore", None, "never"), ("ignore", True, "whole"), ("ignore", False, "never"),
    ],
)  # fmt: skip
def test_what_is_asked_of_standard_input(desk: Desk, rule: str, flag: bool | None, wish: StdinWish) -> None:
    spec = desk.spec(Stdin(b"x", "read"), task=desk.task(f"prompt: p\nstdin: {rule}\n"), stdin=flag)
    assert desk.wishes == [wish]
    assert spec.stdin == ("ignored" if wish == "never" else "read")
    assert spec.prompt == ("p" if wish == "never" else "p\n\n<stdin>\nx\n</stdin>")


def test_standard_input_that_a_task_requires(desk: Desk) -> None:
    path = desk.task("prompt: p\nstdin: required\n")
    for came in (Stdin(b"", "none"), Stdin(b"", "skipped")):
        assert desk.faults(task=path, came=came) == [
            "stdin: the task requires standard input, and nothing came (pipe something in)"
        ]
    desk.wishes.clear()
    assert desk.faults(task=path, stdin=False) == [
        "--no-stdin: the task requires standard input (leave --no-stdin out)"
    ]
    assert desk.wishes == []


def test_standard_input_that_did_not_come(desk: Desk) -> None:
    spec = desk.spec(Stdin(b"", "skipped"), prompt="p")
    assert (spec.prompt, spec.stdin, desk.wishes) == ("p", "skipped", ["offered"])


def test_no_prompt_and_no_standard_input(desk: Desk) -> None:
    (fault,) = desk.faults(stdin=False)
    assert fault.startswith("--no-stdin: there is no prompt (give one as an argument")


def test_standard_input_that_is_no_text(desk: Desk) -> None:
    assert desk.faults(prompt="p", came=Stdin(b"ab\n\xff", "read")) == [
        "stdin:2: not valid UTF-8: byte 0xff at byte offset 3 (pipe text, or put the file where the tools can read it)"
    ]


@pytest.mark.parametrize(
    ("data", "block"),
    [
        ("x", "<stdin>\nx\n</stdin>"),
        ("x\n", "<stdin>\nx\n</stdin>"),
        ("a </STDIN> b", "<stdin-1>\na </STDIN> b\n</stdin-1>"),
        ("<stdin>", "<stdin-1>\n<stdin>\n</stdin-1>"),
        ("</stdin></stdin-1>", "<stdin-2>\n</stdin></stdin-1>\n</stdin-2>"),
    ],
)
def test_the_mark_of_the_block_is_not_in_the_data(data: str, block: str) -> None:
    assert with_stdin_block("p", data) == f"p\n\n{block}"


def test_rule_files_and_approvals_are_read_whole(desk: Desk) -> None:
    user = desk.write("config/policy.toml", "version = 1\n# user")
    project = desk.write("w/.remit/policy.toml", "version = 1\n# project")
    first, second = desk.write("1.toml", "version = 1 # 1"), desk.write("2.toml", "version = 1 # 2")
    approvals = desk.write("a.toml", "version = 1 # a")
    spec = desk.spec(prompt="p", workspace="w", policies=(first, second), approvals=approvals)
    assert spec.policies == (
        PolicySource("user", user, "version = 1\n# user"),
        PolicySource("project", project, "version = 1\n# project"),
        PolicySource("policy", first, "version = 1 # 1"),
        PolicySource("policy", second, "version = 1 # 2"),
    )
    assert spec.approvals == Source(approvals, "version = 1 # a")
    paths = (user, project, first, second, approvals)
    assert spec.files == {path: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in paths}


def test_rule_files_that_cannot_be_read(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk.folder)
    desk.write("config/policy.toml", b"\xff")
    (desk.folder / ".remit").mkdir()
    (desk.folder / ".remit" / "policy.toml").symlink_to("gone")
    desk.write("big.toml", "#" * (1024 * 1024 + 1))
    found = desk.faults(prompt="p", policies=("none.toml", "config", "", "big.toml"), approvals="no.toml")
    where = " (paths are taken from the current directory)"
    assert found == [
        "config/policy.toml:1: not valid UTF-8: byte 0xff at byte offset 0 (save the file as UTF-8)",
        ".remit/policy.toml: this link leads to no file (remove it, or put the file there)",
        f"none.toml: there is no such file{where}",
        "config: this is a directory, not a file",
        "-p: the file's name is empty",
        "big.toml: the file is larger than 1048576 bytes",
        f"no.toml: there is no such file{where}",
    ]


def test_a_file_where_the_rule_files_directory_would_be(desk: Desk) -> None:
    desk.write(".remit", "")
    assert desk.spec(prompt="p").policies == ()


def test_files_may_be_pipes(desk: Desk) -> None:
    """As a shell gives them for `<(command)`: read to the end, and no digest to compare later."""
    read_end, write_end = os.pipe()
    writer = threading.Thread(target=lambda: (os.write(write_end, b"from a pipe"), os.close(write_end)))
    writer.start()
    spec = desk.spec(prompt_file=f"/dev/fd/{read_end}")
    writer.join()
    os.close(read_end)
    assert (spec.prompt, spec.files) == ("from a pipe", {})


def test_a_pipe_that_nobody_writes_to_is_empty(desk: Desk) -> None:
    os.mkfifo(desk.folder / "pipe")
    assert desk.faults(prompt_file=str(desk.folder / "pipe")) == ["pipe: the prompt is empty"]


def test_a_workspace_is_a_directory(desk: Desk) -> None:
    desk.write("file", "")
    hint = f"(that is {desk.folder}/file)".replace(f"{desk.folder}/", "")
    assert desk.faults(prompt="p", workspace="file") == [f"--workspace: not a directory: 'file' {hint}"]
    assert desk.faults(prompt="p", workspace="none")[0].startswith("--workspace: there is no such directory: 'none'")
    assert desk.faults(prompt="p", workspace="")[0].startswith("--workspace: not a directory: ''")


def test_a_workspace_whose_name_is_no_text(desk: Desk) -> None:
    directory = desk.folder / "caf\udce9"
    directory.mkdir()
    settings = Settings(config_dir=str(desk.folder / "config"), state_dir=str(desk.folder))
    with pytest.raises(Faults, match="the workspace's path is not UTF-8"):
        build_spec(RunFlags(prompt="p"), settings, EFFECTS, lambda wish: Stdin(), str(directory))


def test_faults_of_everything_at_once_and_before_standard_input_is_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk.folder)
    desk.task("prompt: '{{x}}'\ntools: {read_fil: auto}\nlimits: {turns: 0}\n")
    found = desk.faults(
        task="t.yaml", model="x y", inputs=("y=1",), tools=("shel",), limits={"calls": "0"}, workspace="none",
        policies=("none.toml",), approvals="a.toml", deny=("\udc80",),
    )  # fmt: skip
    assert [fault.split(": ")[0] for fault in found] == [
        "--deny", "t.yaml:2", "t.yaml:3", "t.yaml:4", "-i 'y=1'", "--workspace", "-m", "--tools 'shel'", "--max-calls",
        "none.toml", "a.toml",
    ]  # fmt: skip
    assert desk.wishes == []


@pytest.mark.parametrize(
    "flags",
    [{"model": "\udcff/x"}, {"prompt_file": "\udcff"}, {"task": "\udcff"}, {"approvals": "\udcff"},
     {"workspace": "\udcff"}, {"inputs": ("\udcff=1",)}, {"tools": ("\udcff",)}, {"allow": ("\udcff",)},
     {"deny": ("\udcff",)}, {"policies": ("\udcff",)}],
)  # fmt: skip
def test_every_argument_is_text(desk: Desk, flags: dict[str, Any]) -> None:
    assert "not valid UTF-8: the byte 0xff at byte offset 0" in desk.faults(**{"prompt": "p", **flags})[0]


def test_a_spec_is_whole_in_json(desk: Desk) -> None:
    desk.write("s.json", '{"type": "object"}')
    path = desk.task("prompt: é😀\ntools: {read_file: auto}\nexpect: {schema: s.json}\n")
    spec = desk.spec(Stdin(b"x", "read"), task=path)
    assert msgspec.json.decode(msgspec.json.encode(spec), type=RunSpec) == spec


def test_yaml_and_toml_make_the_same_spec(desk: Desk) -> None:
    yaml = desk.task("name: n\nprompt: '{{a}}'\ninputs: {a: {default: x}}\ntools: {fetch_url: {decide: ask}}\n"
                     "limits: {artifact_bytes: 1MiB}\nstdin: required\n")  # fmt: skip
    toml = desk.write(
        "t.toml",
        "version = 1\nname = 'n'\nprompt = '{{a}}'\ninputs.a.default = 'x'\ntools.fetch_url.decide = 'ask'\n"
        "limits.artifact_bytes = '1MiB'\nstdin = 'required'\n",
    )
    specs = [desk.spec(Stdin(b"x", "read"), task=path) for path in (yaml, toml)]
    assert specs[0].ticks["fetch_url"].where == f"{yaml}:5"
    plain = [
        msgspec.structs.replace(spec, task="", files={}, ticks={n: (t.decide, t.hosts) for n, t in spec.ticks.items()})
        for spec in specs
    ]
    assert plain[0] == plain[1]


def test_importing_loads_nothing_that_a_run_may_not_need() -> None:
    code = (
        "import sys, remit.config.task, remit.config.resolve, remit.config.settings\n"
        "heavy = {'yaml', 'tomli', 'jsonschema', 'platformdirs', 'httpx', 'typer', 'json', 'difflib', 're2'}\n"
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_toml_task_does_not_load_yaml(desk: Desk) -> None:
    path = desk.write("t.toml", "version = 1\nprompt = 'p'\n")
    code = (
        "import sys\nfrom remit.config.task import examine_task\n"
        f"examine_task({path!r}, {{}})\n"
        "sys.exit(' '.join({'yaml', 'jsonschema', 'platformdirs'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("setting", "flag", "filters"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_the_output_filter_of_the_settings_and_of_the_flag(
    desk: Desk, setting: bool, flag: bool, filters: bool
) -> None:
    assert desk.spec(prompt="hi", settings={"output_filter": setting}, no_rtk=flag).output_filter is filters
