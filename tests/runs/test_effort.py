"""How much a model should think, and what is said when it cannot be told."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.cli import Home
from fakes.model_server import ModelServer, text

PROVIDERS = """\
version = 1
[mine]
protocol = "openai"
base_url = "URL"
[[mine.models]]
id = "thinks"
thinking = "effort"
[[mine.models]]
id = "does-not"
thinking = "none"
"""


@pytest.mark.parametrize(
    ("model", "effort", "sent", "told"),
    [
        ("mine/thinks", "high", "high", False),
        ("mine/thinks", "off", "none", False),
        ("mine/thinks", None, None, False),
        ("mine/does-not", "high", None, True),
        ("mine/unknown", "low", None, True),
        ("mine/unknown", "off", None, False),
    ],
)
def test_effort(tmp_path: Path, model: str, effort: str | None, sent: str | None, told: bool) -> None:
    home = Home(tmp_path)
    with ModelServer([text("Done.")]) as server:
        (tmp_path / "config" / "providers.toml").write_text(PROVIDERS.replace("URL", server.url))
        ran = home.stream("go", "-m", model, *(["--effort", effort] if effort else []))
        assert ran.code == 0, ran.stderr
        assert server.requests[0].body.get("reasoning_effort") == sent
    notices = [event["text"] for event in ran.events if event.get("kind") == "effort"]
    assert bool(notices) is told and all(model in text and "providers.toml" in text for text in notices)
    assert all(("does not think" in text) == (model == "mine/does-not") for text in notices)


def test_a_task_says_it_too(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with ModelServer([text("Done.")] * 2) as server:
        (tmp_path / "config" / "providers.toml").write_text(PROVIDERS.replace("URL", server.url))
        task = home.task(prompt="go", model="mine/thinks", effort="medium")
        assert home.stream("-t", task).code == 0 and home.stream("-t", task, "--effort", "low").code == 0
        assert [request.body["reasoning_effort"] for request in server.requests] == ["medium", "low"]
