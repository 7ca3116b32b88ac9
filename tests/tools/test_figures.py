"""The figures that tools state of themselves are those that hold."""

from __future__ import annotations

import re

import msgspec
import pytest

from remit.base.artifact_names import MAX_NAME_BYTES
from remit.base.limits import KIB, MIB, Limits
from remit.base.pictures import MAX_BYTES, MAX_EDGE, MAX_INPUT_BYTES, MAX_PIXELS
from remit.code import rows, tree
from remit.config.settings import Settings
from remit.net import client
from remit.net.guard import MAX_URL_CHARS
from remit.store import outputs
from remit.tools import registry
from remit.tools.agents import plan, todo_write
from remit.tools.code import code_expand
from remit.tools.contract import Tool
from remit.tools.documents import _text_files, list_files, propose_memory, search_files, update_plan
from remit.tools.execution import batch, python_execution, question, shell
from remit.tools.execution.batch import Batch
from remit.tools.files import _texts, file_glob, file_grep, file_index, file_read, tool_output
from remit.workspace import environment, monty, monty_value, patch, process, search_rows, search_scan, table
from remit.workspace.outline import MAX_OUTPUT_BYTES

AGENTS = next(each.default for each in msgspec.structs.fields(Settings) if each.name == "task_max_concurrent")


def size(number: int) -> str:
    """A number of bytes as texts write it."""
    unit, name = (MIB, "MiB") if number >= MIB else (KIB, "KiB")
    assert number % unit == 0
    return f"{number // unit} {name}"


FIGURES: dict[str, list[str]] = {
    "analyze_csv": [size(table.MAX_BYTES), f"{table.MAX_ROWS:,} rows", f"{table.MAX_COLUMNS} columns"],
    "batch": [
        f"up to {batch.MAX_CALLS} calls",
        f"1 to {batch.MAX_CALLS}",
        f"{Batch.bounds.output_bytes:,} bytes",
    ],
    "code_context": [f"{rows.DEFAULT_ROWS} rows", f"{rows.MAX_ROWS:,} with limit"],
    "code_expand": [
        size(code_expand.MAX_SOURCE_BYTES),
        f"{code_expand.MAX_NEIGHBOURS} callers and {code_expand.MAX_NEIGHBOURS} callees",
    ],
    "code_impact": [
        f"{rows.DEFAULT_HOPS} hops",
        f"1 to {rows.MAX_HOPS}",
        f"{rows.DEFAULT_ROWS} rows",
        f"{rows.MAX_ROWS:,} with limit",
    ],
    "code_map": [
        f"{rows.DEFAULT_ROWS} rows",
        f"{rows.MAX_ROWS:,} with limit",
        f"{tree.MAX_FILES:,} files of {size(tree.MAX_FILE_BYTES)}",
        f"{tree.MAX_TREE_SECONDS:g} seconds",
    ],
    "code_refs": [f"{rows.DEFAULT_ROWS} rows", f"{rows.MAX_ROWS:,} with limit"],
    "execution_environment": [f"{environment.PROBE_SECONDS:g} s for each", f"{environment.TOTAL_SECONDS:g} s for all"],
    "fetch_url": [
        f"{client.TOTAL_SECONDS:g} seconds in total",
        f"{size(client.MAX_BODY_BYTES)} of body",
        f"at most {MAX_URL_CHARS} characters",
    ],
    "file_apply_patch": [
        f"{size(patch.MAX_PATCH_BYTES)} of patch",
        f"{patch.MAX_SECTIONS} sections",
        f"{size(_texts.MAX_FILE_BYTES)} per text file",
    ],
    "file_edit": [size(_texts.MAX_FILE_BYTES)],
    "file_glob": [f"up to {file_glob.MAX_FILES} paths"],
    "file_grep": [
        f"up to {size(search_scan.MAX_FILE_BYTES)}",
        f"over {size(search_scan.MAX_FILE_BYTES)}",
        f"up to {file_grep.MAX_MATCHES}",
        f"cut at {search_rows.MAX_LINE:,} characters",
    ],
    "file_index": [size(file_index.MAX_SOURCE_BYTES), f"at most {file_index.MAX_ENTRIES:,}", size(MAX_OUTPUT_BYTES)],
    "file_read": [
        size(_texts.MAX_FILE_BYTES),
        f"first {file_read.MAX_ENTRIES} entries",
        f"at most {file_read.MAX_LINES:,} and {size(file_read.MAX_SHOWN_BYTES)}",
        f"cut at {file_read.MAX_LINE_CHARS:,} characters",
        f"default {file_read.MAX_LINES:,}",
    ],
    "file_write": [size(_texts.MAX_FILE_BYTES)],
    "list_files": [f"{list_files.MAX_ENTRIES:,} entries", {6: "six levels"}[list_files.MAX_DEPTH]],
    "plan": [size(plan.Plan.bounds.output_bytes)],
    "propose_memory": [
        f"text is at most {size(propose_memory.MAX_TEXT_BYTES)}",
        f"reason at most {size(propose_memory.MAX_REASON_BYTES)}",
        f"{propose_memory.MAX_TAGS} tags of at most 40 characters",
    ],
    "python_execution": [
        f"At most {python_execution.MAX_SECONDS} s ({python_execution.DEFAULT_SECONDS} unless",
        f"{size(monty.MAX_MEMORY_BYTES)} of memory",
        "1,000 nested calls",
        f"{size(monty.MAX_STREAM_BYTES)} each of stdout",
        f"at most {size(python_execution.MAX_CODE_BYTES)}",
    ],
    "question": [f"{question.MAX_HEADER_CHARACTERS} characters"],
    "read_file": [size(_text_files.MAX_FILE_BYTES)],
    "search_files": [
        f"{search_files.MAX_FILES:,} supported files",
        f"{size(_text_files.MAX_FILE_BYTES)} each",
        f"{search_files.MAX_MATCHES} matches",
        f"{search_files.MAX_LINE} characters",
    ],
    "shell": [
        size(shell.PREVIEW_BYTES),
        f"up to {size(shell.MAX_COMMAND_BYTES)}",
        f"default {shell.DEFAULT_SECONDS}",
        f"more than {size(process.MAX_RAW_BYTES)}",
        # What is kept of a stream and the notice of what is not.
        f"{size(shell.KEPT_BYTES + 256)} of each",
    ],
    "task": [f"({AGENTS})"],
    "task_control": ["1 to 100", "Default 20"],
    "todo_write": [f"up to {todo_write.MAX_TODOS} items", f"{todo_write.MAX_CONTENT_CHARACTERS:,} characters"],
    "tool_output": [
        f"{tool_output.READ_LINES} or `limit` of them and {size(tool_output.PAGE_BYTES)}",
        f"default {tool_output.READ_LINES}, at most {tool_output.MAX_READ_LINES:,}",
        f"({tool_output.MATCHES}, at most {tool_output.MAX_MATCHES})",
        f"at most {tool_output.MAX_CONTEXT}",
        f"cut at {tool_output.MAX_LINE_CHARS:,} characters",
        f"longer than {size(outputs.KEPT_WHOLE_BYTES)}",
    ],
    "update_plan": [
        f"{update_plan.MAX_STEPS} steps",
        f"at most {update_plan.MAX_STEP_CHARACTERS} characters",
        f"at most {update_plan.MAX_NOTE_CHARACTERS:,}",
    ],
    "view_image": [
        f"{size(MAX_INPUT_BYTES)} and {MAX_PIXELS // 1_000_000} megapixels",
        f"over {MAX_EDGE:,} pixels an edge or {size(MAX_BYTES)}",
    ],
    "write_artifact": [f"at most {MAX_NAME_BYTES} bytes", f"{size(Limits().artifact_bytes)} unless the task"],
}
"""Parts of the texts of each tool, as the limits make them."""

UNITS = r"KiB|MiB|bytes|rows|columns|calls|s|seconds|hops|files|paths|characters|entries|levels|tags|matches|sections"
FIGURE = re.compile(rf"\b[0-9][0-9,.]*\s(?:{UNITS}|lines|items|steps|pixels|megapixels|supported files)\b")


def told(tool: Tool) -> str:
    """All that a tool says of itself, in one line."""
    described = [each.get("description", "") for each in tool.schema().get("properties", {}).values()]
    return " ".join(" ".join([tool.spec().description, tool.notes, *described]).split())


@pytest.mark.parametrize("tool", registry.all_tools().values(), ids=lambda tool: tool.name)
def test_every_figure_of_a_text_is_a_limit(tool: Tool) -> None:
    text = told(tool)
    figures = FIGURES.get(tool.name, [])
    assert [figure for figure in figures if figure not in text] == []
    for figure in figures:
        text = text.replace(figure, "")
    assert FIGURE.findall(text) == []


def test_values_of_scripts_have_the_room_of_their_streams() -> None:
    assert monty_value.MAX_VALUE_BYTES == monty.MAX_STREAM_BYTES
