"""What the sandbox is put together from: which facilities are used, and what is hidden."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from remit.workspace.process_launch import NotStarted
from remit.workspace.sandbox import Facilities, Grounds, LayerName, Sandbox
from remit.workspace.sandbox_bubblewrap import bubblewrap_argv
from remit.workspace.sandbox_probe import without
from remit.workspace.sandbox_secrets import Mask, WorkspaceSecrets, outermost, standing_secrets

ALL = Facilities(user=True, mounts=True, read_only=True, devices=True, pid=True, proc=True, net=True, landlock=7)


def lost(step: str, text: str = "Operation not permitted") -> Facilities:
    less = without(ALL, NotStarted(step, 1, text))
    assert less is not None
    return less


@pytest.mark.parametrize(
    ("step", "gone"),
    [
        ("user", {"user", "mounts", "read_only", "devices", "pid", "proc", "net"}),
        ("mounts", {"mounts", "read_only", "devices", "proc"}),
        ("read_only", {"read_only"}),
        ("devices", {"devices"}),
        ("pid", {"pid", "proc"}),
        ("proc", {"proc"}),
        ("net", {"net"}),
        ("landlock", {"landlock"}),
    ],
)
def test_what_the_system_refuses_is_done_without(step: str, gone: set[str]) -> None:
    less = lost(step)
    names = ("user", "mounts", "read_only", "devices", "pid", "proc", "net", "landlock")
    assert {name for name in names if not getattr(less, name)} == gone
    assert less.seccomp is ("net" in gone)
    assert "Operation not permitted" in less.why[step]


def test_a_system_without_seccomp_filters_no_kinds_of_sockets() -> None:
    have = Facilities(net=True, families=True)
    less = without(have, NotStarted("seccomp", 22, "Invalid argument"))
    assert less is not None and (less.net, less.families, less.seccomp) == (True, False, False)


@pytest.mark.parametrize("step", ["exec", "launcher", "seccomp"])
def test_what_is_no_facility_cannot_be_done_without(step: str) -> None:
    assert without(ALL, NotStarted(step, 1, "no")) is None


def test_a_user_namespace_that_serves_nothing_is_left_out() -> None:
    have = Facilities(user=True, net=True)
    less = without(have, NotStarted("net", 1, "no"))
    assert less is not None and (less.user, less.seccomp) == (False, True)


@pytest.mark.parametrize(
    ("have", "held", "words"),
    [
        (ALL, {"writes", "secrets", "network", "processes"}, "Landlock 7 and read-only mounts"),
        (lost("mounts"), {"writes", "network", "processes"}, "modes and times"),
        (lost("landlock"), {"writes", "secrets", "network", "processes"}, "read-only mounts"),
        (Facilities(landlock=2), set(), "lets files outside be emptied"),
        (Facilities(landlock=3), {"writes"}, "Landlock 3"),
        (Facilities(landlock=6, seccomp=True), {"writes", "network", "processes"}, "Landlock 6"),
        (Facilities(bubblewrap="/bin/bwrap"), {"writes", "secrets", "network", "processes"}, "bubblewrap"),
        (Facilities(why={"landlock": "no Landlock here"}), set(), "no Landlock here"),
    ],
)
def test_layers(tmp_path: Path, have: Facilities, held: set[str], words: str) -> None:
    layers = Sandbox(have, Grounds(workspace=str(tmp_path), private=str(tmp_path / "private"))).layers()
    assert {name for name, layer in layers.items() if layer.held} == held
    assert words in layers["writes"].how
    assert all(layer.how for layer in layers.values())


@pytest.mark.parametrize(
    ("have", "opens"),
    [
        (ALL, True),
        (Facilities(user=True, net=True), True),
        (lost("net"), False),
        (Facilities(landlock=6, seccomp=True), False),
        (Facilities(bubblewrap="/bin/bwrap"), False),
        (Facilities(bubblewrap="/bin/bwrap", door=True), True),
        (Facilities(), False),
    ],
)
def test_a_way_out_is_given_to_network_namespaces(tmp_path: Path, have: Facilities, opens: bool) -> None:
    assert Sandbox(have, Grounds(workspace=str(tmp_path), private=str(tmp_path / "private"))).opens is opens


def test_a_reason_is_told_where_nothing_can_be_hidden(tmp_path: Path) -> None:
    sandbox = Sandbox(lost("user", "EPERM"), Grounds(workspace=str(tmp_path), private=str(tmp_path / "p")))
    assert str(sandbox.layers()["secrets"]) == (
        "not held: files cannot be hidden: the system refuses user namespaces: EPERM"
    )


def found(workspace: Path, **keys: object) -> tuple[set[str], WorkspaceSecrets]:
    secrets = WorkspaceSecrets(str(workspace), **keys)  # type: ignore[arg-type]
    return {os.path.relpath(mask.path, workspace.resolve()) for mask in secrets.masks()}, secrets


def write(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("secret")


def test_secrets_of_a_workspace(tmp_path: Path) -> None:
    write(
        *(
            tmp_path / name
            for name in (".env", "a/b/server.key", ".aws/config", "plain.txt", "id_rsa.pub", "credentials.py")
        )
    )
    theirs = (
        ".venv/cacert.pem",
        ".venv/keys/id_rsa",
        "node_modules/x/.npmrc",
        "node_modules/gcloud/index.js",
        ".git/credentials",
        ".git/refs/heads/id_rsa",
    )
    write(*(tmp_path / name for name in theirs))
    (tmp_path / "settings").write_text("secret")
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / ".env").symlink_to("../settings")
    (tmp_path / ".npmrc").symlink_to("/dev/null")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / ".ssh").symlink_to(tmp_path)
    (tmp_path / "circle.pem").symlink_to("circle.pem")
    (tmp_path / "gone.pem").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe.key")
    names, secrets = found(tmp_path)
    assert names == {".env", "a/b/server.key", ".aws", "settings"}
    assert secrets.whole
    secrets.close()
    assert len(secrets) == 0


@pytest.mark.parametrize(
    "folder", [".git/x", "node_modules/q", ".venv", "venv", "a/site-packages", "a/__pycache__", ".tox/b", ".hg"]
)
@pytest.mark.parametrize("secret", [".env", ".env.local", ".netrc", ".aws"])
def test_secrets_among_what_others_wrote(tmp_path: Path, folder: str, secret: str) -> None:
    write(tmp_path / folder / (secret if secret != ".aws" else ".aws/config"))
    names, secrets = found(tmp_path)
    assert (names, secrets.whole) == ({f"{folder}/{secret}"}, True)
    secrets.close()


def test_rules_withhold_what_others_wrote(tmp_path: Path) -> None:
    write(tmp_path / "node_modules" / "private" / "x.js", tmp_path / "node_modules" / "open" / "x.js")
    names, secrets = found(tmp_path, hides=lambda name: "/private/" in name)
    assert names == {"node_modules/private/x.js"}
    assert secrets.around() == [str(tmp_path.resolve() / place) for place in ("node_modules", "node_modules/private")]
    secrets.close()


@pytest.mark.parametrize(("before", "seen"), [(19_999, True), (20_000, False)])
def test_so_much_of_what_others_wrote_is_looked_at(tmp_path: Path, before: int, seen: bool) -> None:
    outer, inner = tmp_path / "venv", tmp_path / "venv" / "d"
    inner.mkdir(parents=True)
    for number in range(before - 1):
        os.close(os.open(outer / str(number), os.O_CREAT))
    write(inner / ".env")
    names, secrets = found(tmp_path)
    # The inner directory counts as well.
    assert (names, secrets.whole) == ({"venv/d/.env"} if seen else set(), True)
    secrets.close()


def test_secrets_are_followed(tmp_path: Path) -> None:
    write(tmp_path / "a" / ".env", tmp_path / "b.pem")
    _, secrets = found(tmp_path)
    (tmp_path / "a").rename(tmp_path / "moved")
    (tmp_path / "b.pem").unlink()
    facts = (tmp_path / "moved" / ".env").stat()
    place = str(tmp_path.resolve() / "moved" / ".env")
    assert secrets.masks() == [Mask(place, False, (facts.st_dev, facts.st_ino))]
    secrets.close()


def test_the_rules_may_open_a_secret(tmp_path: Path) -> None:
    write(tmp_path / ".env", tmp_path / "docs" / "a.txt")
    names, secrets = found(tmp_path, hides=lambda name: name.startswith("docs/"))
    assert names == {"docs/a.txt"}
    secrets.close()


@pytest.mark.parametrize(("count", "whole"), [(512, True), (513, False)])
def test_so_many_secrets_are_held(tmp_path: Path, count: int, whole: bool) -> None:
    write(*(tmp_path / f"{number}.pem" for number in range(count)))
    secrets = WorkspaceSecrets(str(tmp_path))
    assert secrets.whole is whole
    sandbox = Sandbox(ALL, Grounds(workspace=str(tmp_path), private=str(tmp_path / "p")), secrets)
    assert sandbox.layers()["secrets"].held is whole
    sandbox.close()


def test_standing_secrets(tmp_path: Path) -> None:
    write(tmp_path / "home" / ".ssh" / "id_rsa", tmp_path / "home" / ".netrc", tmp_path / "own" / "auth.toml")
    (tmp_path / "link").symlink_to(tmp_path / "home")
    masks = standing_secrets([str(tmp_path / "link")], [str(tmp_path / "own"), str(tmp_path / "gone")])
    top = str(tmp_path.resolve())
    ours = [mask for mask in masks if mask.path.startswith(top)]
    assert ours == [Mask(f"{top}/home/.ssh", True), Mask(f"{top}/home/.netrc", False), Mask(f"{top}/own", True)]


@pytest.mark.parametrize(
    ("masks", "kept", "left"),
    [
        (["/h/.aws/", "/h/.aws/key"], [], ["/h/.aws/"]),
        (["/s/", "/s/runs/1/work/.env"], ["/s/runs/1/work"], ["/s/", "/s/runs/1/work/.env"]),
        (["/w/.env"], ["/w"], ["/w/.env"]),
        (["/w/"], ["/w"], []),
        (["/h/.netrc", "/h/.netrc.d"], [], ["/h/.netrc", "/h/.netrc.d"]),
    ],
)
def test_masks_in_masks(masks: list[str], kept: list[str], left: list[str]) -> None:
    given = [Mask(path.rstrip("/"), path.endswith("/")) for path in masks]
    assert outermost(given, kept) == [Mask(path.rstrip("/"), path.endswith("/")) for path in left]


def test_bubblewrap_shows_outer_places_first() -> None:
    argv = bubblewrap_argv(
        "bwrap",
        writable={"/s/run/art": "/s/run/art", "/tmp": "/p/tmp", "/tmp/w": "/tmp/w"},
        fixed=["/tmp/w/rules"],
        masks={"/s": True, "/tmp/w/.env": False},
        empty_file="/p/file",
        capabilities=["chown"],
    )
    after = " ".join(argv[argv.index("--cap-add") :])
    assert after == (
        "--cap-add CAP_CHOWN --bind /p/tmp /tmp --tmpfs /s --bind /tmp/w /tmp/w --bind /s/run/art /s/run/art "
        "--ro-bind /tmp/w/rules /tmp/w/rules --ro-bind /p/file /tmp/w/.env"
    )
    assert "--ro-bind / /" in " ".join(argv)


def test_bubblewrap_is_handed_filters_by_descriptors(tmp_path: Path) -> None:
    argv = bubblewrap_argv(
        "bwrap", writable={}, fixed=[], masks={}, empty_file="/p/file", capabilities=[], filters=["/p/a b", "/p/c"]
    )
    assert argv[:7] == ["/bin/sh", "-c", 'exec 8<"$1" 9<"$2"; shift 2; exec "$@"', "sh", "/p/a b", "/p/c", "bwrap"]
    assert "--add-seccomp-fd 8 --add-seccomp-fd 9" in " ".join(argv)


@pytest.mark.parametrize(
    ("have", "layer", "due"),
    [
        (Facilities(bubblewrap="/bin/bwrap", families=True), "writes", "held: bubblewrap"),
        (
            Facilities(bubblewrap="/bin/bwrap"),
            "writes",
            "held: bubblewrap; commands can make files that run as their owner",
        ),
        (Facilities(bubblewrap="/bin/bwrap", families=True), "network", "held: bubblewrap"),
        (
            Facilities(bubblewrap="/bin/bwrap"),
            "network",
            "held: bubblewrap; sockets of kinds that it does not hold, as between virtual machines, can be made",
        ),
        (Facilities(net=True, families=True), "network", "held: a network namespace"),
        (
            Facilities(net=True),
            "network",
            "held: a network namespace; sockets of kinds that it does not hold, as between virtual machines, can be "
            "made",
        ),
        (
            Facilities(seccomp=True, landlock=6),
            "writes",
            "held: Landlock 6; modes and times of files outside can be changed",
        ),
    ],
)
def test_what_is_left_without_filters_is_said(tmp_path: Path, have: Facilities, layer: LayerName, due: str) -> None:
    sandbox = Sandbox(have, Grounds(workspace=str(tmp_path), private=str(tmp_path / "private")))
    assert str(sandbox.layers()[layer]) == due


def test_the_private_directory_goes_with_the_sandbox(tmp_path: Path) -> None:
    sandbox = Sandbox(ALL, Grounds(workspace=str(tmp_path), private=str(tmp_path / "private")))
    assert (tmp_path / "private" / "tmp").is_dir()
    sandbox.close()
    assert not (tmp_path / "private").exists()
    shutil.rmtree(tmp_path)
    sandbox.close()


def test_all_names_of_a_secret_are_hidden(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "private/x.txt").write_text("secret")
    for name in ("hard.txt", "node_modules/hard.txt"):
        os.link(tmp_path / "private/x.txt", tmp_path / name)
    (tmp_path / "soft.txt").symlink_to("private/x.txt")
    (tmp_path / "plain.txt").write_text("secret")
    names, secrets = found(tmp_path, hides=lambda name: name.startswith("private/"))
    assert names == {"private/x.txt", "hard.txt", "node_modules/hard.txt"}
    assert secrets.whole
    secrets.close()
