"""Whole runs whose commands are confined: what the init event says of it, and what commands can do."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, Ran, ended, journal
from fakes.hardened import HARDENED
from fakes.programs import needs

LAYERS = ("writes", "secrets", "network", "processes")


def calls(*commands: str, **more: Any) -> list[dict[str, Any]]:
    """A script that runs commands, one a turn."""
    turns = [{"calls": [{"tool": "shell", "arguments": {"command": each, **more}}]} for each in commands]
    return [*turns, {"text": "Done."}]


def run(home: Home, *commands: str, **keys: Any) -> Ran:
    """A run in which the shell is ticked."""
    task = home.task(prompt="Go", tools={"shell": "auto"})
    return home.stream("-t", task, "-m", home.script(*calls(*commands)), "-o", str(home.out), **keys)


def outcomes(home: Home) -> list[dict[str, Any]]:
    return [record["outcome"] for record in journal(home.out, "call_settled")]


def confined(ran: Ran) -> None:
    """Skip where this machine lends nothing to confine commands."""
    missing = {name: layer for name, layer in ran.events[0]["layers"].items() if layer.startswith("not held")}
    if missing:
        pytest.skip(f"this machine cannot confine commands: {missing}")


def test_a_run_says_what_holds(home: Home) -> None:
    ran = run(home, "echo hi > made && cat made")
    assert ran.result == ended(home.out, 0)
    layers = ran.events[0]["layers"]
    assert (list(layers), layers["sandbox"]) == (["sandbox", *LAYERS], "auto")
    assert ran.result["layers"] == layers
    assert all(re.match(r"(not )?held: .", layers[name]) for name in LAYERS)
    [outcome] = outcomes(home)
    assert (outcome["data"]["exit_code"], outcome["data"]["stdout"]) == (0, "hi\n")
    assert (home.work / "made").read_text() == "hi\n"
    confined(ran)
    assert not any(event.get("subtype") == "notice" for event in ran.events)


def test_what_commands_cannot_do(home: Home) -> None:
    home.write(".env", "SECRET=in-the-workspace")
    (home.path / "home" / ".ssh").mkdir()
    (home.path / "home" / ".ssh" / "id_rsa").write_text("in-the-home")
    (home.path / "config" / "auth.toml").write_text("in-the-settings")
    outside = Path(__file__).resolve().with_name(f"written-{os.getpid()}")
    # Lines that the rules cannot see into.
    attacks = [
        "cat .env ~/.ssh/id_rsa; true",
        f"cat {home.path}/config/auth.toml; ls {home.path}/state; true",
        f"echo x > {outside}",
        f"cat {home.out}/journal.jsonl; echo tampered >> {home.out}/journal.jsonl; true",
        f"cat /proc/{os.getpid()}/environ; kill -0 {os.getpid()}",
        "exec 3<>/dev/tcp/127.0.0.1/22",
    ]
    for number, attack in enumerate(attacks):
        home.write(f"{number}.sh", attack)
    ran = run(home, *(f"bash {number}.sh" for number in range(len(attacks))))
    left = outside.exists()
    outside.unlink(missing_ok=True)
    confined(ran)
    found = outcomes(home)
    assert not left
    assert [each["data"]["exit_code"] != 0 for each in found] == [False, False, True, False, True, True]
    said = json.dumps(found)
    assert "in-the" not in said and '\\"type\\"' not in said
    assert ran.result == ended(home.out, 0)


def test_a_command_hears_what_git_would_have_run_of_it(home: Home) -> None:
    needs("git")
    done = run(home, "git init -q n && git -C n config core.fsmonitor 'touch owned'")
    confined(done)
    [outcome] = outcomes(home)
    [text] = outcome["data"]["left_behind"]
    assert text == (
        "n/.git/config was renamed to n/.git/config.refused-*: git would run what it names, outside the sandbox"
    )
    [result] = [event for event in done.events if event["type"] == "user"]
    assert f"[{text}]" in str(result["message"])
    assert "fsmonitor" not in (home.work / "n" / ".git" / "config").read_text()


def test_a_command_hears_which_files_that_it_names_are_hidden(home: Home) -> None:
    home.write(".env", "K=1")
    home.write("sub/.env.local", "K=1")
    home.write("sub/plain", "x")
    done = run(home, "cat .env sub/plain; cat sub/../sub/.env.local || true", "cat sub/plain")
    confined(done)
    first, second = outcomes(home)
    assert first["data"]["hidden"] == [".env", "sub/../sub/.env.local"]
    assert "hidden" not in second["data"]
    told = [str(event["message"]) for event in done.events if event["type"] == "user"]
    assert "[hidden from the commands of this run: .env, sub/../sub/.env.local]" in told[0]


def test_a_call_refused_for_its_directory_says_so(home: Home) -> None:
    home.write("docs/a", "x")
    call = {"tool": "shell", "arguments": {"command": "git log", "workdir": "docs"}}
    rules = ["--tools", "shell=ask", "--allow", "shell:git log *"]
    ran = home.stream("go", "-m", home.script({"calls": [call]}, {"text": "Done."}), "-o", str(home.out), *rules)
    [denied] = ran.result["permission_denials"]
    [event] = [event for event in ran.events if event.get("subtype") == "permission_denied"]
    assert denied["tool_name"] == "shell"
    assert event["message"].startswith(
        "shell in the directory docs, where the command would start, needs an approval that nobody gave: "
    )


def test_artifacts_can_be_written_by_commands(home: Home) -> None:
    run(home, 'echo report > "$REMIT_OUT/report.md"')
    assert outcomes(home)[0]["data"]["exit_code"] == 0
    assert (home.out / "artifacts" / "report.md").read_text() == "report\n"


def test_a_command_gets_the_memory_of_the_settings(home: Home) -> None:
    settings = home.path / "config" / "remit.toml"
    before = settings.read_text() if settings.exists() else ""
    settings.write_text(f'{before}\n[sandbox]\nmemory = "512MiB"\n')
    ran = run(home, "ulimit -d", "python3 -c 'bytearray(400 << 20)'", "python3 -c 'bytearray(600 << 20)'")
    confined(ran)
    found = [each["data"] for each in outcomes(home)]
    assert (found[0]["stdout"], [each["exit_code"] for each in found]) == ("524288\n", [0, 0, 1])
    assert "MemoryError" in found[2]["stderr"]


def test_a_run_names_hidden_files_that_git_tracks(home: Home) -> None:
    home.write(".env", "SECRET=x")
    home.write("plain.env.txt", "x")
    home.write("other/.env", "SECRET=y")
    home.write(".aws/config", "SECRET=z")
    git = ["git", "-C", str(home.work)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-f", ".env", ".aws", "plain.env.txt"], check=True)
    ran = run(home, "cat .env", "git add -A")
    confined(ran)
    [notice] = [event for event in ran.events if event.get("subtype") == "notice"]
    assert "cannot read: .aws, .env; commands" in notice["text"]
    found = [each["data"] for each in outcomes(home)]
    assert all(each["exit_code"] != 0 for each in found)
    assert "ermission denied" in found[0]["stderr"] and ".env" in found[1]["stderr"]


def test_a_workspace_that_is_the_home_directory(home: Home) -> None:
    home.write(".gitconfig", "[user]\n")
    home.write(".bashrc", "true\n")
    home.environ["HOME"] = str(home.work)
    home.write("attack.sh", "for f in .gitconfig .bashrc; do echo x >> $f; rm -f $f; mv $f other; done")
    write = {"tool": "file_write", "arguments": {"path": ".gitconfig", "content": "x"}}
    new = {"tool": "file_write", "arguments": {"path": ".config/git/config", "content": "x"}}
    task = home.task(prompt="Go", tools={"shell": "auto", "file_write": "auto"})
    script = home.script(*calls("bash attack.sh")[:-1], {"calls": [write, new]}, {"text": "Done."})
    ran = home.stream("-t", task, "-m", script, "-o", str(home.out))
    confined(ran)
    assert (home.work / ".gitconfig").read_text() == "[user]\n"
    assert (home.work / ".bashrc").read_text() == "true\n"
    assert not (home.work / ".config" / "git").exists()
    [notice] = [event for event in ran.events if event.get("subtype") == "notice"]
    assert "holds the home directory" in notice["text"]


def attacked(home: Home, script: str) -> None:
    """A whole run in which a command runs a script of bash, confined."""
    home.write("attack.sh", script)
    task = home.task(prompt="Go", tools={"shell": "auto"})
    confined(home.stream("-t", task, "-m", home.script(*calls("bash attack.sh")), "-o", str(home.out)))


def test_what_a_command_makes_in_a_home_directory_does_not_run_later(home: Home) -> None:
    home.environ["HOME"] = str(home.work)
    home.write(".config/other", "x")
    home.write("sub/.bashrc", "x")
    line = (
        "echo x > .gitconfig; mkdir -p .config/git; echo x > .config/git/config; echo x > .profile; echo x > sub/.zshrc"
    )
    attacked(home, line)
    [outcome] = outcomes(home)
    why = "programs of the user would run what it names, outside the sandbox"
    assert sorted(outcome["data"]["left_behind"]) == [
        f"{name} was renamed to {name}.refused-*: {why}" for name in (".config/git", ".gitconfig", ".profile")
    ]
    assert not [name for name in (".gitconfig", ".profile", ".config/git") if (home.work / name).exists()]
    assert (home.work / ".config" / "other").exists() and (home.work / "sub" / ".zshrc").exists()


def test_a_link_in_the_place_of_a_home_directorys_settings_is_put_aside(home: Home) -> None:
    home.environ["HOME"] = str(home.work)
    outside = home.path / "outside"
    (outside / "git").mkdir(parents=True)
    attacked(home, f"ln -s {outside} .config; ln -s {outside}/git .gitconfig")
    assert (outside / "git").exists()
    assert not [name for name in (".gitconfig", ".config") if os.path.lexists(home.work / name)]


def test_temporary_files_last_for_the_run_and_no_longer(home: Home) -> None:
    ran = run(home, "echo kept > $TMPDIR/note; echo $TMPDIR", "cat $TMPDIR/note; ls -A /tmp | head -3")
    assert outcomes(home)[1]["data"]["stdout"].startswith("kept\n")
    place = outcomes(home)[0]["data"]["stdout"].strip()
    assert place == "/tmp" or not Path(place).exists()
    assert ran.code == 0


def test_the_rules_of_a_run_are_not_written(home: Home) -> None:
    home.write(".remit/policy.toml", "version = 1\n")
    task = home.write("task.yaml", json.dumps({"version": 1, "prompt": "Go", "tools": {"shell": "auto"}}))
    home.write("attack.sh", "rm -rf .remit; echo x > .remit/policy.toml; echo x > task.yaml; rm -f task.yaml; true")
    ran = home.stream("-t", str(task), "-m", home.script(*calls("bash attack.sh")), "-o", str(home.out))
    confined(ran)
    assert (home.work / ".remit" / "policy.toml").read_text() == "version = 1\n"
    assert '"prompt"' in task.read_text()
    assert outcomes(home)[0]["data"]["exit_code"] == 0


def test_rules_keep_files_from_commands_too(home: Home) -> None:
    home.write("docs/plan.md", "the-plan")
    home.write("docs/open.md", "open")
    home.write(".env", "opened-by-a-rule")
    policy = home.path / "rules.toml"
    policy.write_text(
        'version = 1\n[[rule]]\neffect = "read"\npath = ".env"\ndecide = "auto"\nwhy = "a sample"\n'
        '[[rule]]\neffect = "read"\npath = "docs/plan.md"\ndecide = "deny"\nwhy = "not theirs"\n'
    )
    task = home.task(prompt="Go", tools={"shell": "auto"})
    script = home.script(*calls("cat docs/* .env"))
    ran = home.stream("-t", task, "-m", script, "-o", str(home.out), "--policy", str(policy))
    confined(ran)
    assert outcomes(home)[0]["data"]["stdout"] == "openopened-by-a-rule"


def test_checks_are_confined(home: Home) -> None:
    home.write(".env", "secret")
    check = "sh -c '! grep secret .env && ! (exec 3<>/dev/tcp/127.0.0.1/22) && echo ok > out && grep ok out'"
    task = home.task(prompt="Go", expect={"checks": [check]})
    ran = home.stream("-t", task, "-m", home.script({"text": "Done."}), "-o", str(home.out))
    confined(ran)
    assert ran.result == ended(home.out, 0)


def test_a_run_without_commands_tries_nothing(home: Home) -> None:
    task = home.task(prompt="Go", tools={"read_file": "auto"})
    ran = home.stream("-t", task, "-m", home.script({"text": "Done."}), "-o", str(home.out))
    assert ran.events[0]["layers"] == {"sandbox": "unused: this run starts no commands"}


def test_off_confines_nothing(home: Home) -> None:
    home.write(".env", "secret")
    ran = run(home, "cat .env", environ={"REMIT_SANDBOX": "off"})
    assert ran.events[0]["layers"] == {"sandbox": "off: commands run unconfined"}
    assert outcomes(home)[0]["data"]["stdout"] == "secret"


def hardened(home: Home, **environ: str) -> Ran:
    """A run with a command on a machine that lends next to nothing."""
    import subprocess

    task = home.task(prompt="Go", tools={"shell": "auto"})
    command = [
        "run",
        "--output-format",
        "stream-json",
        "-t",
        task,
        "-m",
        home.script(*calls("cat .env; echo x > made")),
    ]
    done = subprocess.run(
        [sys.executable, "-c", HARDENED, sys.executable, "-m", "remit", *command, "-o", str(home.out)],
        cwd=home.work,
        env={**home.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr.decode())


def test_a_machine_that_lends_nothing_is_told_of(home: Home) -> None:
    home.write(".env", "secret")
    ran = hardened(home)
    assert ran.result == ended(home.out, 0)
    layers = ran.events[0]["layers"]
    assert layers["writes"].startswith("not held: ")
    assert layers["secrets"].startswith("not held: files cannot be hidden: the system refuses")
    assert layers["network"] == "held: seccomp: no sockets at all"
    [notice] = [event for event in ran.events if event.get("subtype") == "notice"]
    assert notice["kind"] == "sandbox"
    assert notice["text"].startswith("commands are not confined in every way: writes: ")
    assert outcomes(home)[0]["data"]["stdout"] == "secret"


def test_a_required_sandbox_refuses_such_a_machine(home: Home) -> None:
    (home.path / "config" / "remit.toml").write_text('[sandbox]\nmode = "required"\n')
    ran = hardened(home)
    assert (ran.code, ran.result["error_kind"], home.out.exists()) == (8, "sandbox", False)
    assert "this machine cannot confine commands as the settings require: writes: " in ran.stderr
    assert "remit.toml:2" in ran.stderr
    assert "the system refuses" in ran.stderr
    assert not (home.work / "made").exists()


def test_a_required_sandbox_that_holds(home: Home) -> None:
    task = home.task(prompt="Go", tools={"shell": "auto"})
    script = home.script(*calls("true"))
    ran = home.stream("-t", task, "-m", script, "-o", str(home.out), environ={"REMIT_SANDBOX": "required"})
    if ran.code == 8:
        pytest.skip(f"this machine cannot confine commands: {ran.stderr}")
    assert ran.result == ended(home.out, 0)
    assert ran.events[0]["layers"]["sandbox"] == "required"


def test_nothing_is_left_of_a_run(home: Home, tmp_path: Path) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    run(home, "true", environ={"TMPDIR": str(place)})
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_killed_takes_its_commands_along(home: Home, number: signal.Signals) -> None:
    task = home.task(prompt="Go", tools={"shell": "auto"})
    line = "setsid sh -c 'trap \"\" TERM; while :; do touch alive; sleep 0.05; done' & touch begun; wait"
    with home.started("run", "-t", task, "-m", home.script(*calls(line)), "-o", str(home.out)) as process:
        deadline = time.monotonic() + 30
        while not (home.work / "begun").exists() or not (home.work / "alive").exists():
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        process.wait(20)
    deadline = time.monotonic() + 10
    while True:
        (home.work / "alive").unlink(missing_ok=True)
        time.sleep(0.3)
        if not (home.work / "alive").exists():
            break
        assert time.monotonic() < deadline


def test_a_run_that_is_kept_in_its_workspace(home: Home) -> None:
    task = home.task(prompt="Go", tools={"shell": "auto"})
    home.write("attack.sh", 'cat journal.jsonl; echo x >> journal.jsonl; echo mine > "$REMIT_OUT/mine.md"')
    ran = home.stream("-t", task, "-m", home.script(*calls("bash attack.sh; ls")), "-o", str(home.work))
    confined(ran)
    assert ran.result == ended(home.work, 0)
    [settled] = journal(home.work, "call_settled")
    assert '"type"' not in settled["outcome"]["data"]["stdout"]
    assert "attack.sh" in settled["outcome"]["data"]["stdout"].split()
    assert (home.work / "artifacts" / "mine.md").read_text() == "mine\n"


def test_a_workspace_behind_a_link(home: Home) -> None:
    (home.path / "link").symlink_to("work")
    task = home.task(prompt="Go", tools={"shell": "auto"}, workspace="link")
    out = home.path / "link" / "out"
    command = 'echo made > made; echo a > "$REMIT_OUT/a.md"'
    ran = home.stream("-t", task, "-m", home.script(*calls(command)), "-o", str(out))
    assert ran.result == ended(out, 0)
    assert journal(out, "call_settled")[0]["content"] == "exit code 0\nno output"
    assert ((home.work / "made").read_text(), (out / "artifacts" / "a.md").read_text()) == ("made\n", "a\n")


@pytest.mark.parametrize("more", [(), ("--no-rtk",)])
def test_what_commands_print_is_filtered_unless_told_otherwise(home: Home, more: tuple[str, ...]) -> None:
    rows = "".join(f"step {number}% of it\\n" for number in range(101))
    task = home.task(prompt="Go", tools={"shell": "auto"})
    command = f"printf '{rows}'".replace("%", "%%")
    ran = home.stream("-t", task, "-m", home.script(*calls(command)), "-o", str(home.out), *more)
    assert ran.result == ended(home.out, 0)
    [settled] = journal(home.out, "call_settled")
    assert ("[filtered: progress]" in settled["content"]) is (not more)
    assert settled["outcome"]["data"]["stdout"].count("\n") == 101
