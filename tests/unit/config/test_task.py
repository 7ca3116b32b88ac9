from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.base.errors import Failure, Faults
from remit.base.limits import Limits
from remit.base.resources import Effect
from remit.base.spec import Expect, Tick
from remit.config import names
from remit.config.checks import _words, check_fault
from remit.config.inputs import InputKeys
from remit.config.load import parse
from remit.config.schema import task_schema
from remit.config.task import MemoryKeys, Task, TaskKeys, ToolEffects, examine_task
from remit.net import guard
from remit.tools.documents.write_artifact import check_name

GOLDEN = Path(__file__).parent / "golden"

EFFECTS = {
    "list_files": frozenset({Effect.READ}),
    "read_file": frozenset({Effect.READ}),
    "analyze_csv": frozenset({Effect.READ}),
    "write_artifact": frozenset({Effect.WRITE}),
    "fetch_url": frozenset({Effect.NETWORK}),
}

FULL_YAML = """\
version: 1
name: weekly-sales
prompt: "Analyse {{file}} and write report.md with the totals per region."
inputs: {file: {type: string, default: sales.csv}}
workspace: ./data            # default: current directory
model: anthropic/claude-sonnet-4-5
tools: {read_file: auto, analyze_csv: auto, write_artifact: auto, fetch_url: {decide: auto, hosts: [example.com]}}
limits: {turns: 30, seconds: 600, tokens: 200000, usd: 1.50, calls: 100, network_requests: 10,
  artifact_bytes: 1MiB, artifacts_total_bytes: 20MiB}
memory: {enabled: true, proposals: true}
expect: {artifacts: [report.md], schema: result.schema.json, checks: ["python -m json.tool out.json"]}
stdin: optional              # optional | required | ignore
on_ask: deny                 # deny | stop
mode: plan                   # build | plan
on_deny: continue            # continue | fail
"""

FULL_TOML = """\
version = 1
name = "weekly-sales"
prompt = "Analyse {{file}} and write report.md with the totals per region."
workspace = "./data"
model = "anthropic/claude-sonnet-4-5"
stdin = "optional"
on_ask = "deny"
mode = "plan"
on_deny = "continue"

[inputs.file]
type = "string"
default = "sales.csv"

[tools]
read_file = "auto"
analyze_csv = "auto"
write_artifact = "auto"
fetch_url = { decide = "auto", hosts = ["example.com"] }

[limits]
turns = 30
seconds = 600
tokens = 200000
usd = 1.50
calls = 100
network_requests = 10
artifact_bytes = "1MiB"
artifacts_total_bytes = "20MiB"

[memory]
enabled = true
proposals = true

[expect]
artifacts = ["report.md"]
schema = "result.schema.json"
checks = ["python -m json.tool out.json"]
"""

SCHEMA = {"type": "object", "required": ["total"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "result.schema.json").write_text(json.dumps(SCHEMA))
    return tmp_path


def written(folder: Path, text: str, name: str = "t.yaml") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def faults_of(folder: Path, text: str, name: str = "t.yaml") -> list[str]:
    _, faults = examine_task(written(folder, text, name), EFFECTS)
    return [str(fault).replace(f"{folder}/", "") for fault in faults]


def load_task(path: str, effects: ToolEffects) -> Task:
    task, faults = examine_task(path, effects)
    if faults:
        raise Faults(faults)
    assert task is not None
    return task


def loaded(folder: Path, text: str) -> Task:
    return load_task(written(folder, "version: 1\n" + text), EFFECTS)


def test_every_key_of_a_task_file(folder: Path) -> None:
    path = written(folder, FULL_YAML, "sales.yaml")
    task = load_task(path, EFFECTS)
    assert task == Task(
        path=path,
        name="weekly-sales",
        prompt="Analyse {{file}} and write report.md with the totals per region.",
        prompt_where=f"{path}:3",
        model_where=f"{path}:6",
        fallback_where=f"{path}:1",
        fallback_models=(),
        effort=None,
        inputs={"file": InputKeys(type="string", default="sales.csv")},
        workspace=str(folder / "data"),
        model="anthropic/claude-sonnet-4-5",
        ticks={
            "read_file": Tick("auto", (), f"{path}:7"),
            "analyze_csv": Tick("auto", (), f"{path}:7"),
            "write_artifact": Tick("auto", (), f"{path}:7"),
            "fetch_url": Tick("auto", ("example.com",), f"{path}:7"),
        },
        limit_values={
            "turns": 30,
            "seconds": 600.0,
            "tokens": 200_000,
            "usd": 1.5,
            "calls": 100,
            "network_requests": 10,
            "artifact_bytes": 1_048_576,
            "artifacts_total_bytes": 20_971_520,
        },
        memory=MemoryKeys(enabled=True, proposals=True),
        expect=Expect(
            artifacts=("report.md",),
            schema=SCHEMA,
            schema_path="result.schema.json",
            checks=("python -m json.tool out.json",),
            checks_where=f"{path}:11",
        ),
        hooks=(),
        stdin="optional",
        on_ask="deny",
        mode="plan",
        on_deny="continue",
        files={
            path: hashlib.sha256(FULL_YAML.encode()).hexdigest(),
            str(folder / "result.schema.json"): hashlib.sha256(json.dumps(SCHEMA).encode()).hexdigest(),
        },
    )


def test_both_formats_say_the_same(folder: Path) -> None:
    yaml = load_task(written(folder, FULL_YAML, "t.yaml"), EFFECTS)
    toml = load_task(written(folder, FULL_TOML, "t.toml"), EFFECTS)

    def without_places(task: Task) -> dict[str, Any]:
        fields = msgspec.structs.asdict(task)
        fields["ticks"] = {name: (tick.decide, tick.hosts) for name, tick in task.ticks.items()}
        fields["expect"] = msgspec.structs.replace(task.expect, checks_where="")
        return {
            name: value
            for name, value in fields.items()
            if name not in {"path", "prompt_where", "model_where", "fallback_where", "files"}
        }

    assert without_places(yaml) == without_places(toml)


def test_the_least_a_task_file_says(folder: Path) -> None:
    task = loaded(folder, "")
    assert (task.name, task.prompt, task.workspace, task.model) == ("t", "", "", "")
    assert (task.inputs, task.ticks, task.limit_values) == ({}, {}, {})
    assert task.limits == Limits()
    assert (task.memory, task.expect) == (MemoryKeys(), Expect())
    assert (task.stdin, task.on_ask, task.on_deny) == ("optional", "deny", "continue")


@pytest.mark.parametrize("name", ["bad.yaml", "bad.toml"])
def test_all_faults_of_a_bad_task_at_once(folder: Path, name: str) -> None:
    path = written(folder, (GOLDEN / name).read_text(), name)
    with pytest.raises(Faults) as caught:
        load_task(path, EFFECTS)
    assert str(caught.value).replace(f"{folder}/", "") + "\n" == (GOLDEN / f"{name}.faults").read_text()


def test_a_key_given_twice_hides_no_other_fault(folder: Path) -> None:
    faults = faults_of(folder, "version: 1\nname: a\nname: b\nprompt: go\non_ask: perhaps\n")
    assert len(faults) == 2
    assert "t.yaml:3: the key 'name' is given twice" in faults[0] and "t.yaml:5" in faults[1]


def test_a_file_that_cannot_be_parsed(folder: Path) -> None:
    assert faults_of(folder, "version: 1\nversion: 1\n") == [
        "t.yaml:2: the key 'version' is given twice (first on line 1)"
    ]
    assert faults_of(folder, "- 1\n")[0].startswith("t.yaml:1: expected a mapping with version, name")
    assert examine_task(str(folder / "none.yaml"), EFFECTS)[0] is None


@pytest.mark.parametrize(
    ("name", "written_as", "value"),
    [
        ("turns", "1", 1),
        ("turns", "null", None),
        ("turns", "none", None),
        ("seconds", "0.5", 0.5),
        ("seconds", "600", 600.0),
        ("seconds", "none", None),
        ("tokens", "1", 1),
        ("tokens", "none", None),
        ("usd", "1.50", 1.5),
        ("usd", "none", None),
        ("calls", "1", 1),
        ("calls", "none", None),
        ("network_requests", "0", 0),
        ("network_requests", "none", None),
        ("artifact_bytes", "1", 1),
        ("artifact_bytes", "500", 500),
        ("artifact_bytes", "'500'", 500),
        ("artifact_bytes", "500B", 500),
        ("artifact_bytes", "500KB", 500_000),
        ("artifact_bytes", "0.5KiB", 512),
        ("artifact_bytes", "1 MiB", 1_048_576),
        ("artifact_bytes", "1.001KB", 1001),
        ("artifacts_total_bytes", "2MB", 2_000_000),
        ("artifacts_total_bytes", "8589934591GiB", 8_589_934_591 * 2**30),
        ("artifacts_total_bytes", "1GiB", 1_073_741_824),
        ("artifacts_total_bytes", "1GB", 1_000_000_000),
        ("artifacts_total_bytes", "none", None),
        ("artifacts_total_bytes", "null", None),
    ],
)
def test_limits(folder: Path, name: str, written_as: str, value: Any) -> None:
    task = loaded(folder, f"limits: {{{name}: {written_as}}}\n")
    assert task.limit_values == {name: value}
    assert getattr(task.limits, name) == value


@pytest.mark.parametrize(
    ("name", "written_as"),
    [
        ("turns", "0"),
        ("turns", "1.0"),
        ("turns", "true"),
        ("turns", "1MiB"),
        ("seconds", "0"),
        ("seconds", ".inf"),
        ("tokens", "0"),
        ("usd", "0"),
        ("calls", "0"),
        ("network_requests", "-1"),
        ("artifact_bytes", "0"),
        ("artifact_bytes", "0KB"),
        ("artifact_bytes", "none"),
        ("artifact_bytes", "null"),
        ("artifact_bytes", "1mib"),
        ("artifact_bytes", "1.0001KB"),
        ("artifact_bytes", "8589934592GiB"),
        ("artifact_bytes", "1M"),
        ("artifact_bytes", "1KiBs"),
        ("artifact_bytes", '"1KB\\n"'),
        ("artifacts_total_bytes", "-1"),
        ("artifacts_total_bytes", '"none\\n"'),
    ],
)
def test_limits_that_are_none(folder: Path, name: str, written_as: str) -> None:
    (fault,) = faults_of(folder, f"version: 1\nlimits:\n  {name}: {written_as}\n")
    assert fault.startswith(f"t.yaml:3: `limits.{name}`: expected ")


@pytest.mark.parametrize(
    ("keys", "default"),
    [
        ("{type: string, default: '3'}", "3"),
        ("{default: 2024-01-01}", "2024-01-01"),
        ("{default: no}", "no"),
        ("{type: integer, default: 3}", 3),
        ("{type: number, default: 3}", 3),
        ("{type: number, default: 0.5}", 0.5),
        ("{type: boolean, default: false}", False),
    ],
)
def test_input_defaults(folder: Path, keys: str, default: Any) -> None:
    read_back = loaded(folder, f"inputs: {{x: {keys}}}\n").inputs["x"].default
    assert read_back == default
    assert type(read_back) is type(default)


@pytest.mark.parametrize(
    "keys",
    [
        "{type: string, default: 3}",
        "{type: integer, default: true}",
        "{type: integer, default: 1.5}",
        "{type: number, default: '1'}",
        "{type: boolean, default: 1}",
        "{type: boolean, default: 'true'}",
        "{default: null}",
        "{default: [1]}",
    ],
)
def test_input_defaults_of_another_type(folder: Path, keys: str) -> None:
    (fault,) = faults_of(folder, f"version: 1\ninputs:\n  x: {keys}\n")
    assert fault.startswith("t.yaml:3: `inputs.x.default`: expected ")


def test_only_named_placeholders_are_placeholders(folder: Path) -> None:
    text = "prompt: 'a {{x}} {{ x }} {x} {{ 1 }} {{a b}} {{{{x}} {{}} {{\\bf y}}'\ninputs: {x: {}}\n"
    assert loaded(folder, text).prompt.startswith("a {{x}}")
    assert faults_of(folder, "version: 1\nprompt: '{{x.y}}'\ninputs: {x: {}}\n") == [
        "t.yaml:2: the prompt names the input `x.y`, which the task does not declare (its inputs: x)"
    ]


@pytest.mark.parametrize(
    ("key", "words"),
    [("stdin", ("optional", "required", "ignore")), ("on_ask", ("deny", "stop")), ("on_deny", ("continue", "fail"))],
)
def test_words(folder: Path, key: str, words: tuple[str, ...]) -> None:
    for word in words:
        assert getattr(loaded(folder, f"{key}: {word}\n"), key) == word


@pytest.mark.parametrize("decide", ["auto", "ask", "deny"])
def test_ticks(folder: Path, decide: str) -> None:
    task = loaded(folder, f"tools:\n  read_file: {decide}\n  fetch_url:\n    decide: {decide}\n")
    assert {name: (tick.decide, tick.hosts) for name, tick in task.ticks.items()} == {
        "read_file": (decide, ()),
        "fetch_url": (decide, ()),
    }
    assert [tick.where for tick in task.ticks.values()] == [f"{task.path}:3", f"{task.path}:4"]


def test_hosts_are_put_in_their_normal_form(folder: Path) -> None:
    task = loaded(folder, "tools: {fetch_url: {decide: auto, hosts: [Example.COM., a-b.example, 9.9.9.9]}}\n")
    assert task.ticks["fetch_url"].hosts == ("example.com", "a-b.example", "9.9.9.9")


@pytest.mark.parametrize(
    "host",
    ["", ".", "a..b", "-a.example", "example.com:80", "user@example.com", "*", "a b", "x" * 64, "a." * 127 + "ab"],
)
def test_hosts_that_are_none(folder: Path, host: str) -> None:
    (fault,) = faults_of(folder, f"version: 1\ntools: {{fetch_url: {{decide: auto, hosts: ['{host}']}}}}\n")
    assert fault.startswith("t.yaml:2: `tools.fetch_url.hosts[0]`: ")


def test_a_tool_that_cannot_be_ticked_is_unknown(folder: Path) -> None:
    class Tickable(dict[str, frozenset[Effect]]):
        def __contains__(self, name: object) -> bool:
            return True

    path = written(folder, "version: 1\ntools: {structured_output: auto}\n")
    _, faults = examine_task(path, Tickable(EFFECTS))
    assert [fault.message for fault in faults] == ["unknown tool 'structured_output'"]


@pytest.mark.parametrize("key", ["prompt", "workspace", "model", "name"])
def test_an_empty_text_is_a_fault(folder: Path, key: str) -> None:
    (fault,) = faults_of(folder, f"version: 1\n{key}: ''\n")
    assert fault.startswith(f"t.yaml:2: `{key}`: ")


def test_names(folder: Path) -> None:
    assert loaded(folder, f"name: {'ü' * 100}\n").name == "ü" * 100
    for bad in (f"'{'u' * 101}'", '"a\\tb"', "a\\b", '"a\\n"'):
        (fault,) = faults_of(folder, f"version: 1\nname: {bad}\n")
        assert fault.startswith("t.yaml:2: `name`: ")


def test_a_workspace_is_a_directory(folder: Path) -> None:
    assert loaded(folder, f"workspace: {folder}/data/../data\n").workspace == str(folder / "data")
    (folder / "file").write_text("")
    assert faults_of(folder, "version: 1\nworkspace: file\n") == [
        "t.yaml:2: `workspace`: not a directory: 'file' (that is file)"
    ]


def test_the_workspace_is_taken_from_the_task_files_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "tasks" / "data").mkdir(parents=True)
    written(folder, "version: 1\nworkspace: data\nexpect: {schema: s.json}\n", "tasks/t.yaml")
    written(folder, "{}", "tasks/s.json")
    monkeypatch.chdir(folder)
    task = load_task("tasks/t.yaml", EFFECTS)
    assert task.workspace == str(folder / "tasks" / "data")
    assert task.expect.schema == {}
    assert sorted(task.files) == [str(folder / "tasks/s.json"), str(folder / "tasks/t.yaml")]


@pytest.mark.parametrize("model", ["anthropic/claude-sonnet-4-5", "scripted/dir/script.yaml", "local", "openai/a/b:c"])
def test_models(folder: Path, model: str) -> None:
    assert loaded(folder, f"model: {model}\n").model == model


@pytest.mark.parametrize("model", ["/x", "x/", "claude 4", "/"])
def test_models_that_are_none(folder: Path, model: str) -> None:
    assert faults_of(folder, f"version: 1\nmodel: {model}\n") == [
        f"t.yaml:2: `model`: expected PROVIDER/NAME, seen '{model}'"
    ]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("s.json", '{"type": "objekt"}', "s.json: not a usable JSON Schema: /type: 'objekt' is not valid"),
        ("s.json", '{\n "a": 1,\n}', "s.json:3: not valid JSON: "),
        ("s.json", '{"a": NaN}', "s.json: not valid JSON: NaN is no JSON number"),
        ("s.json", '{"minimum": 1e999}', "s.json:1: `minimum`: inf is not a finite number"),
        ("s.json", '{"const": "\\ud800"}', "s.json:1: `const` holds a lone surrogate"),
        ("s.json", "[]", "s.json: not a usable JSON Schema: a JSON Schema is an object"),
        ("s.json", "true", "s.json: not a usable JSON Schema: a JSON Schema is an object, seen true"),
        ("s.json", "[" * 100_000, "s.json: values are nested too deep"),
        ("s.json", '{"a": ' + "1" * 5000 + "}", "s.json: a number has too many digits"),
        ("s.json", '{"$ref": "https://example.com/s.json"}', "s.json: not a usable JSON Schema: "),
        ("s.json", '{"pattern": "("}', "s.json: not a usable JSON Schema: "),
        ("s.json", '{"items": {"a": 1, "b": 2, "a": 1}}', "s.json: the key 'a' is given twice in one object"),
        ("s.json", '{"$ref": "#"}', "s.json: not a usable JSON Schema: /: `$ref` '#' leads back to itself"),
        (
            "s.json",
            '{"items": {"$ref": "#/x"}}',
            "s.json: not a usable JSON Schema: /items: `$ref` '#/x' leads nowhere",
        ),
        ("s.yaml", "type: objekt\n", "s.yaml: not a usable JSON Schema: /type: 'objekt' is not valid"),
        ("s.yaml", "a: 1\na: 2\n", "s.yaml:2: the key 'a' is given twice"),
    ],
)
def test_output_schemas_with_faults(folder: Path, name: str, text: str, expected: str) -> None:
    written(folder, text, name)
    (fault,) = faults_of(folder, f"version: 1\nexpect:\n  schema: {name}\n")
    assert fault.startswith(f"t.yaml:3: `expect.schema`: {expected}")


def test_an_output_schema_in_yaml(folder: Path) -> None:
    written(folder, "type: object\nrequired: [total]\n", "s.yaml")
    assert loaded(folder, "expect: {schema: s.yaml}\n").expect.schema == SCHEMA


def test_the_time_of_checks(folder: Path) -> None:
    assert loaded(folder, "expect: {checks: ['true']}\n").expect.check_seconds == 60.0
    assert loaded(folder, "expect: {checks: ['true'], check_seconds: 5}\n").expect.check_seconds == 5.0


NAMES = [
    *("", "a.md", "A.JSON", "ü.md", "x" * 252 + ".md", "x" * 253 + ".md", "a\\b.md", "a/b.md", ".md", "x.exe", "x"),
    *("CON.txt", "com1.md", "a b.csv", " a.md", "a.md ", "a.md.", "a:b.md", "a*.md", "a\u202e.md", "..", "nul .md"),
]


@pytest.mark.parametrize("name", NAMES)
def test_the_artifacts_that_can_be_promised_are_those_that_can_be_written(folder: Path, name: str) -> None:
    try:
        check_name(name)
        writable = True
    except Failure:
        writable = False
    promised = json.dumps(name)
    faults = faults_of(folder, f"version: 1\ntools: {{write_artifact: auto}}\nexpect:\n  artifacts:\n  - {promised}\n")
    assert (not faults) is writable
    assert all(fault.startswith("t.yaml:5: `expect.artifacts[0]`: ") for fault in faults)


@pytest.mark.parametrize(
    ("tools", "why"),
    [
        ("{}", "the task does not tick write_artifact"),
        ("{read_file: auto}", "the task does not tick write_artifact"),
        ("{write_artifact: deny}", "`tools.write_artifact` is deny"),
        ("{write_artifact: {decide: deny}}", "`tools.write_artifact` is deny"),
    ],
)
def test_artifacts_are_promised_only_with_the_tool_that_writes_them(folder: Path, tools: str, why: str) -> None:
    assert faults_of(folder, f"version: 1\ntools: {tools}\nexpect:\n  artifacts: [a.md]\n") == [
        f"t.yaml:4: `expect.artifacts`: nothing can write them: {why} (add `write_artifact: auto` to `tools`)"
    ]
    assert faults_of(folder, "version: 1\ntools: {write_artifact: ask}\nexpect: {artifacts: [a.md]}\n") == []
    assert faults_of(folder, f"version: 1\ntools: {tools}\n") == []


FINE_CHECKS = [
    "true",
    "test -f a.md",
    "[ -s report.md ]",
    "python -m json.tool out.json",
    "grep -q 'a && b | $HOME' 'x y.md'",
    'grep -q "a;b" x',
    r"find . -exec test -s {} \;",
    "find . -name '*.md'",
    "grep -c '#' x",
    "test a#b = a~b",
    "grep -q 'costs 5$' x",
    'grep -q "5$" x',
    "grep -q ^a$ x",
    "python -c 'print(1)\nprint(2)'",
    "true\n",
    "sh -c 'test -s \"$REMIT_OUT/report.md\"'",
    'sh -c "test -s $REMIT_OUT/report.md"',
    "/bin/bash -c 'true && false'",
    "env A=1 timeout 5 sh -c 'echo `date` > x'",
]

SHELL_CHECKS = [
    ("true && false", "`&&`"),
    ("true || false", "`||`"),
    ("true | false", "`|`"),
    ("true ; false", "`;`"),
    ("true; false", "`;`"),
    ("true &", "`&`"),
    ("true > x", "`>`"),
    ("true >x", "`>`"),
    ("true >> x", "`>>`"),
    ("true 2>/dev/null", "`2>`"),
    ("true 2>&1", "`2>&`"),
    ("true &> x", "`&>`"),
    ("cat < x", "`<`"),
    ("cat << EOF", "`<<`"),
    ("cat <<< x", "`<<<`"),
    ("true <(echo)", "`<`"),
    ("( true )", "`(`"),
    ("curl http://x.example/?a=1&b=2", "`&`"),
    ("sh -c 'true' && false", "`&&`"),
    ("test -n $HOME", "`$HOME`"),
    ('test -s "$REMIT_OUT/report.md"', "`$REMIT_OUT`"),
    ("test -n ${HOME}", "`${`"),
    ("test -n $(false)", "`(`"),
    ('test -n "$(false)"', "`$(`"),
    ("test -n `false`", "```"),
    ("true # && false", "`#`"),
    ("test ! -e *.tmp", "`*`"),
    ("test ! -e a?", "`?`"),
    ("test ! -e ~/x", "`~`"),
    ("true\nfalse", "a line break"),
    ("true \\\nfalse", "a line break"),
]


@pytest.mark.parametrize("command", FINE_CHECKS)
def test_checks_that_are_one_command(folder: Path, command: str) -> None:
    assert faults_of(folder, f"version: 1\nexpect:\n  checks: [{json.dumps(command)}]\n") == []


@pytest.mark.parametrize(("command", "what"), SHELL_CHECKS)
def test_checks_that_only_a_shell_understands(folder: Path, command: str, what: str) -> None:
    (fault,) = faults_of(folder, f"version: 1\nexpect:\n  checks:\n  - 'true'\n  - {json.dumps(command)}\n")
    assert fault.startswith(f"t.yaml:5: `expect.checks[1]`: {what} ")
    assert fault.endswith("(checks run without a shell: write sh -c '...', or quote the word)")


@given(st.text(alphabet="ab '\"\\\n$`&;#", max_size=20))
def test_checks_are_read_as_they_are_split(command: str) -> None:
    try:
        words = shlex.split(command)
    except ValueError:
        return
    assert [word.text for word in _words(command)] == [word for word in words if word]
    check_fault(command)


HOSTS = [
    *("example.org", "a.example", "9.9.9.9", "localhost", "a.localhost", "db.internal", "box.local", "router", "com"),
    *("home.arpa", "x.home.arpa", "corp", "a.corp", "example.corp.org", "127.1", "2130706433", "0x7f.1", "1.2.3", "0x"),
    *("1.2.3.256", "01.2.3.4", "localhost.", "a.lan", "x.private", "intranet", "printer.home"),
]


def test_the_tables_of_hosts_are_those_of_the_web_tools() -> None:
    assert names.LOCAL_DOMAINS == guard.LOCAL_DOMAINS
    assert tuple(network for network, _ in guard.NOT_PUBLIC if ":" not in network) == names.NOT_PUBLIC_IPV4


@pytest.mark.parametrize("host", [*HOSTS, *(network.partition("/")[0] for network in names.NOT_PUBLIC_IPV4)])
def test_hosts_are_those_that_can_be_reached(folder: Path, host: str) -> None:
    try:
        guard.check_url(f"https://{host}/")
        reachable = guard.normal_host(host) == host.removesuffix(".")
    except Failure:
        reachable = False
    text = f"version: 1\ntools:\n  fetch_url:\n    decide: auto\n    hosts:\n    - '{host}'\n"
    faults = faults_of(folder, text)
    assert (not faults) is reachable
    assert all(fault.startswith("t.yaml:6: `tools.fetch_url.hosts[0]`: ") for fault in faults)


def test_the_published_schema_fits_what_is_read() -> None:
    schema = task_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert list(validator.iter_errors(parse(FULL_YAML, "t.yaml", "yaml").data)) == []
    assert list(validator.iter_errors({"version": 1, "limits": {"turns": None, "usd": "none"}})) == []
    wrong = {"version": 1, "nmae": "x", "tools": {"a": "yes"}, "limits": {"turns": 0}, "inputs": {"a": {"typ": "x"}}}
    assert len(list(validator.iter_errors(wrong))) == 4


def test_every_key_of_the_published_schema_is_described() -> None:
    schema = task_schema()
    assert list(schema["properties"]) == [
        "version", "name", "prompt", "inputs", "workspace", "model", "fallback_models", "effort", "tools", "limits",
        "memory", "expect", "hook", "stdin", "on_ask", "mode", "on_deny",
    ]  # fmt: skip
    assert list(schema["properties"]) == [field.name for field in msgspec.structs.fields(TaskKeys)]
    for part in (schema, *schema["$defs"].values()):
        assert part["additionalProperties"] is False
        assert all(key["description"] for key in part["properties"].values())
