"""One editor a model: the one it was trained on, unless somebody ticked the other alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakes.cli import Home
from fakes.model_server import ModelServer, text


@pytest.mark.parametrize(
    ("model", "ticked", "offered"),
    [
        ("openai/gpt-5.2", "file_edit,file_apply_patch", "file_apply_patch"),
        ("openai/gpt-4o", "file_edit,file_apply_patch", "file_edit"),
        ("openai/claude-opus-5-5", "file_edit,file_apply_patch", "file_edit"),
        ("openai/gpt-5.2", "file_edit", "file_edit"),
        ("openai/gpt-4o", "file_apply_patch", "file_apply_patch"),
    ],
)
def test_the_model_gets_one_editor(tmp_path: Path, model: str, ticked: str, offered: str) -> None:
    home = Home(tmp_path)
    tools = ",".join(f"{name}=auto" for name in ticked.split(","))
    with ModelServer([text("Done.")]) as server:
        environ = {"OPENAI_BASE_URL": server.url}
        ran = home.stream("go", "-m", model, "--tools", tools, environ=environ)
        assert ran.code == 0, ran.stderr
        names = {tool["function"]["name"] for tool in server.requests[0].body["tools"]}
    assert names == {offered}
    withheld = ran.events[0]["withheld_tools"]
    assert set(withheld) == set(ticked.split(",")) - {offered}
    assert all("the other editing tool" in why and offered in why for why in withheld.values())


def test_the_listing_says_which(tmp_path: Path) -> None:
    home = Home(tmp_path)
    (tmp_path / "config" / "remit.toml").write_text('model = "openai/gpt-5.2"\n')
    listing = json.loads(home.run("tools", "--tools", "file_edit=auto,file_apply_patch=auto", "--json").stdout)
    by_name = {entry["name"]: entry for entry in listing}
    assert by_name["file_apply_patch"]["state"] == "on" and by_name["file_edit"]["state"] == "off"
    assert "the other editing tool" in by_name["file_edit"]["reason"]
