from __future__ import annotations

import hashlib
import os
import pwd
from pathlib import Path

import pytest

from remit.base.errors import Faults
from remit.base.spec import Price
from remit.config.settings import Origin, Settings, load_settings
from remit.config.where import cache_dir, config_dir, examples_dir, state_dir

FULL = """\
model = "anthropic/claude-sonnet-4-5"
state_dir = "/var/lib/remit"
cache_dir = "/var/cache/remit"
python_worker = "/opt/worker"

[net]
fetch_allowed_ports = [80, 443, 8080]

[retry]
seconds = 30

[prices."anthropic/claude-sonnet-4-5"]
input = 3
output = 15.0
cache_read = 0.3
cache_write = 3.75

[prices."local/a.b"]
input = 0
output = 0
"""


def environ(folder: Path, **more: str) -> dict[str, str]:
    own = {"REMIT_CONFIG_DIR": str(folder), "REMIT_STATE_DIR": str(folder / "state")}
    return {**own, "REMIT_CACHE_DIR": str(folder / "cache"), **more}


def write(folder: Path, text: str) -> None:
    (folder / "remit.toml").write_text(text)


def faults_of(folder: Path, **more: str) -> list[str]:
    with pytest.raises(Faults) as caught:
        load_settings(environ(folder, **more))
    return [str(fault).replace(f"{folder}/", "") for fault in caught.value.faults]


def test_defaults(tmp_path: Path) -> None:
    settings = load_settings(environ(tmp_path))
    assert settings == Settings(
        config_dir=str(tmp_path),
        state_dir=str(tmp_path / "state"),
        cache_dir=str(tmp_path / "cache"),
        origins={
            "state_dir": Origin("env", "REMIT_STATE_DIR"),
            "cache_dir": Origin("env", "REMIT_CACHE_DIR"),
        },
    )
    assert str(settings.origin("model")) == "default"
    assert (settings.fetch_allowed_ports, settings.retry_seconds) == ((80, 443), 300.0)


def test_every_key_of_the_file_and_where_it_stands(tmp_path: Path) -> None:
    write(tmp_path, FULL)
    settings = load_settings({"REMIT_CONFIG_DIR": str(tmp_path)})
    path = str(tmp_path / "remit.toml")
    assert settings == Settings(
        config_dir=str(tmp_path),
        state_dir="/var/lib/remit",
        cache_dir="/var/cache/remit",
        python_worker="/opt/worker",
        model="anthropic/claude-sonnet-4-5",
        fetch_allowed_ports=(80, 443, 8080),
        retry_seconds=30.0,
        prices={
            "anthropic/claude-sonnet-4-5": Price(3.0, 15.0, 0.3, 3.75),
            "local/a.b": Price(0.0, 0.0),
        },
        origins={
            "model": Origin("file", f"{path}:1"),
            "state_dir": Origin("file", f"{path}:2"),
            "cache_dir": Origin("file", f"{path}:3"),
            "python_worker": Origin("file", f"{path}:4"),
            "net.fetch_allowed_ports": Origin("file", f"{path}:7"),
            "retry.seconds": Origin("file", f"{path}:10"),
            "prices": Origin("file", f"{path}:12"),
        },
        files={path: hashlib.sha256(FULL.encode()).hexdigest()},
    )
    assert str(settings.origin("retry.seconds")) == f"{path}:10"


def test_variables_go_before_the_file(tmp_path: Path) -> None:
    write(tmp_path, FULL)
    settings = load_settings(
        environ(
            tmp_path,
            REMIT_MODEL="openai/x",
            REMIT_FETCH_ALLOWED_PORTS="443, 8443",
            REMIT_RETRY_SECONDS="0",
            REMIT_PYTHON_WORKER="bin/worker",
        )
    )
    assert (settings.model, settings.fetch_allowed_ports, settings.retry_seconds) == ("openai/x", (443, 8443), 0.0)
    assert settings.state_dir == str(tmp_path / "state")
    assert settings.python_worker == str(Path.cwd() / "bin" / "worker")
    assert {str(settings.origin(name)) for name in ("model", "net.fetch_allowed_ports", "retry.seconds")} == {
        "REMIT_MODEL",
        "REMIT_FETCH_ALLOWED_PORTS",
        "REMIT_RETRY_SECONDS",
    }
    assert len(settings.prices) == 2


def test_an_empty_variable_counts_as_not_set(tmp_path: Path) -> None:
    write(tmp_path, FULL)
    settings = load_settings(environ(tmp_path, REMIT_MODEL="", REMIT_STATE_DIR="", REMIT_RETRY_SECONDS=""))
    assert (settings.model, settings.state_dir) == ("anthropic/claude-sonnet-4-5", "/var/lib/remit")


@pytest.mark.parametrize("text", ["", "\n", "# model = 'x/y'\n"])
def test_a_file_that_says_nothing(tmp_path: Path, text: str) -> None:
    write(tmp_path, text)
    assert load_settings(environ(tmp_path)).model == ""


def test_all_faults_at_once(tmp_path: Path) -> None:
    ports = "expected a whole number of at least 1 and of at most 65535"
    dollars = "expected a number of at least 0 and of at most 1000000000"
    write(
        tmp_path,
        "modle = 'x/y'\nmodel = 'claude 4'\nstate_dir = 'here'\npython_worker = 'there'\ncache_dir = 'x'\n"
        "[net]\nfetch_allowed_ports = [0, 80, 65536]\n"
        "[retry]\nsecond = 3\nseconds = -1\n[prices.'a/b']\ninput = -1\n"
        "[prices.b]\ninput = 1000000000\noutput = 1000000000.1\n",
    )
    assert faults_of(tmp_path, REMIT_MODEL="x/", REMIT_FETCH_ALLOWED_PORTS="80,x", REMIT_RETRY_SECONDS="soon") == [
        "remit.toml:1: unknown key `modle` (did you mean `model`?)",
        "remit.toml:2: `model`: expected PROVIDER/NAME, seen 'claude 4'",
        "remit.toml:3: `state_dir`: expected an absolute path, seen 'here'",
        "remit.toml:4: `python_worker`: expected an absolute path, seen 'there'",
        "remit.toml:5: `cache_dir`: expected an absolute path, seen 'x'",
        f"remit.toml:7: `net.fetch_allowed_ports[0]`: {ports}, seen 0",
        f"remit.toml:7: `net.fetch_allowed_ports[2]`: {ports}, seen 65536",
        "remit.toml:9: unknown key `retry.second` (did you mean `seconds`?)",
        "remit.toml:10: `retry.seconds`: expected a number of at least 0 and of at most 1000000000, seen -1",
        "remit.toml:11: `prices.'a/b'.output` is missing",
        f"remit.toml:12: `prices.'a/b'.input`: {dollars}, seen -1",
        f"remit.toml:15: `prices.b.output`: {dollars}, seen 1000000000.1",
        "REMIT_FETCH_ALLOWED_PORTS: expected ports separated by commas, seen '80,x'",
        "REMIT_RETRY_SECONDS: expected a number of seconds, seen 'soon'",
        "REMIT_MODEL: expected PROVIDER/NAME, seen 'x/'",
    ]


@pytest.mark.parametrize(
    "text", ["fetch_allowed_ports = []", "fetch_allowed_ports = 80", "fetch_allowed_ports = ['80']"]
)
def test_ports_that_are_none(tmp_path: Path, text: str) -> None:
    write(tmp_path, f"[net]\n{text}\n")
    (fault,) = faults_of(tmp_path)
    assert fault.startswith("remit.toml:2: `net.fetch_allowed_ports")


@pytest.mark.parametrize("value", ["0", "65536", ",", "-1", "80;443"])
def test_ports_of_the_variable_that_are_none(tmp_path: Path, value: str) -> None:
    assert faults_of(tmp_path, REMIT_FETCH_ALLOWED_PORTS=value) == [
        f"REMIT_FETCH_ALLOWED_PORTS: expected ports separated by commas, seen '{value}'"
    ]


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "1s"])
def test_seconds_of_the_variable_that_are_none(tmp_path: Path, value: str) -> None:
    assert faults_of(tmp_path, REMIT_RETRY_SECONDS=value) == [
        f"REMIT_RETRY_SECONDS: expected a number of seconds, seen '{value}'"
    ]


def test_a_price_is_for_a_provider_and_a_model(tmp_path: Path) -> None:
    write(tmp_path, "[prices.claude]\ninput = 1\noutput = 1\n")
    assert faults_of(tmp_path) == ["remit.toml:1: `prices`: expected PROVIDER/NAME, seen 'claude'"]


def test_a_file_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "remit.toml").mkdir()
    assert faults_of(tmp_path) == ["remit.toml: this is a directory, not a file"]
    (tmp_path / "remit.toml").rmdir()
    (tmp_path / "remit.toml").symlink_to("gone")
    assert faults_of(tmp_path)[0].startswith("remit.toml: this link leads to no file (")
    (tmp_path / "remit.toml").unlink()
    write(tmp_path, "model = \n")
    assert faults_of(tmp_path, REMIT_MODEL="x/") == [
        "remit.toml:1: not valid TOML: invalid value",
        "REMIT_MODEL: expected PROVIDER/NAME, seen 'x/'",
    ]


def test_directories_come_from_variables_or_the_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert config_dir({"REMIT_CONFIG_DIR": "c"}) == str(tmp_path / "c")
    assert state_dir({"REMIT_STATE_DIR": "s"}) == str(tmp_path / "s")
    assert cache_dir({"REMIT_CACHE_DIR": "k"}) == str(tmp_path / "k")
    for place in (config_dir({}), state_dir({"REMIT_STATE_DIR": ""}), cache_dir({})):
        assert os.path.isabs(place)
        assert "remit" in place


def test_what_was_read_of_source_is_kept_in_the_cache_or_not_at_all(tmp_path: Path) -> None:
    assert load_settings(environ(tmp_path)).facts_dir == str(tmp_path / "cache")
    write(tmp_path, "[code]\ncache = false\n")
    settings = load_settings(environ(tmp_path))
    assert (settings.facts_dir, settings.own_dirs[2]) == ("", str(tmp_path / "cache"))


def test_the_sandbox_of_the_file_and_of_the_variable(tmp_path: Path) -> None:
    write(tmp_path, '[sandbox]\nmode = "required"\n')
    settings = load_settings(environ(tmp_path))
    assert (settings.sandbox, str(settings.origin("sandbox.mode"))) == ("required", f"{tmp_path / 'remit.toml'}:2")
    settings = load_settings(environ(tmp_path, REMIT_SANDBOX="off"))
    assert (settings.sandbox, str(settings.origin("sandbox.mode"))) == ("off", "REMIT_SANDBOX")


def test_a_sandbox_that_there_is_not(tmp_path: Path) -> None:
    write(tmp_path, '[sandbox]\nmode = "on"\n')
    with pytest.raises(Faults) as caught:
        load_settings(environ(tmp_path, REMIT_SANDBOX="no"))
    in_file, in_variable = caught.value.faults
    assert "`sandbox.mode`" in in_file.message and "'on'" in in_file.message
    assert str(in_variable) == "REMIT_SANDBOX: expected required, auto or off, seen 'no'"


@pytest.mark.parametrize(
    ("written", "memory"),
    [("67108864", 64 * 2**20), ('"64MiB"', 64 * 2**20), ('"4GiB"', 4 * 2**30), ('"none"', None), ("", 8 * 2**30)],
)
def test_the_memory_of_commands(tmp_path: Path, written: str, memory: int | None) -> None:
    write(tmp_path, f"[sandbox]\nmemory = {written}\n" if written else "")
    assert load_settings(environ(tmp_path)).sandbox_memory == memory


@pytest.mark.parametrize("written", ["67108863", '"63MiB"', '"much"', "-1", "9223372036854775808", '""'])
def test_memory_that_cannot_be_meant(tmp_path: Path, written: str) -> None:
    write(tmp_path, f"[sandbox]\nmemory = {written}\n")
    with pytest.raises(Faults) as caught:
        load_settings(environ(tmp_path))
    [fault] = caught.value.faults
    assert "`sandbox.memory`" in fault.message
    assert fault.where == f"{tmp_path / 'remit.toml'}:2"


def test_how_commands_are_waited_for(tmp_path: Path) -> None:
    plain = load_settings(environ(tmp_path))
    assert (plain.shell_execution, plain.shell_async_threshold_seconds) == ("auto", 120)
    write(tmp_path, '[shell]\nexecution = "async"\nasync_threshold_seconds = 1\n')
    settings = load_settings(environ(tmp_path))
    assert (settings.shell_execution, settings.shell_async_threshold_seconds) == ("async", 1)
    assert str(settings.origin("shell.async_threshold_seconds")).endswith("remit.toml:3")


@pytest.mark.parametrize("line", ['execution = "later"', "async_threshold_seconds = 0", "execution = 1"])
def test_odd_ways_to_wait_are_refused(tmp_path: Path, line: str) -> None:
    write(tmp_path, f"[shell]\n{line}\n")
    with pytest.raises(Faults, match=f"remit.toml:2: `shell.{line.split(maxsplit=1)[0]}`"):
        load_settings(environ(tmp_path))


def test_how_agents_are_waited_for_and_how_many_work_at_once(tmp_path: Path) -> None:
    settings = load_settings(environ(tmp_path))
    assert (settings.task_execution, settings.task_max_concurrent) == ("auto", 8)
    write(tmp_path, '[agent]\ntask_execution = "async"\ntask_max_concurrent = 64\n')
    settings = load_settings(environ(tmp_path))
    assert (settings.task_execution, settings.task_max_concurrent) == ("async", 64)


@pytest.mark.parametrize("line", ['task_execution = "later"', "task_max_concurrent = 0", "task_max_concurrent = 65"])
def test_what_agents_cannot_be_set_to(tmp_path: Path, line: str) -> None:
    write(tmp_path, f"[agent]\n{line}\n")
    with pytest.raises(Faults, match=r"agent\.task_"):
        load_settings(environ(tmp_path))


def test_the_output_filter_can_be_turned_off(tmp_path: Path) -> None:
    assert load_settings(environ(tmp_path)).output_filter
    write(tmp_path, "[shell]\noutput_filter = false\n")
    settings = load_settings(environ(tmp_path))
    assert (settings.output_filter, str(settings.origin("shell.output_filter"))) == (
        False,
        f"{tmp_path / 'remit.toml'}:2",
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change owners")
def test_root_keeps_nothing_in_the_home_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    usual = [state_dir({}), cache_dir({}), examples_dir()]
    assert all(place.startswith(f"{tmp_path}/") for place in usual)
    os.chown(tmp_path, 65534, 65534)
    own = pwd.getpwuid(0).pw_dir
    assert [state_dir({}), cache_dir({}), examples_dir()] == [place.replace(str(tmp_path), own) for place in usual]
    assert config_dir({}).startswith(f"{tmp_path}/")
    # What root has there already it goes on with, and what is asked for by name is done.
    os.makedirs(usual[0])
    assert state_dir({}) == usual[0]
    assert cache_dir({"REMIT_CACHE_DIR": usual[1]}) == usual[1]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path.parent / "other"))
    assert cache_dir({}) == str(tmp_path.parent / "other" / "remit")
