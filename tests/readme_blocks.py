"""The blocks of README.md by name, so that what is pasted from it is what is tested.

`<!-- block: NAME -->` stands before a console block, `<!-- file: PATH -->` before the text of a file.

    python3 tests/readme_blocks.py --print NAME
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
_MARKED = re.compile(r"<!-- (?P<kind>block|file): (?P<name>[^ ]+) -->\n```[a-z]+\n(?P<text>.*?)```", re.DOTALL)


def blocks(kind: str) -> dict[str, str]:
    """Name and text of the blocks (kind `block`) or files (kind `file`) of the README, in order."""
    found = _MARKED.finditer(README.read_text(encoding="utf-8"))
    return {match["name"]: match["text"] for match in found if match["kind"] == kind}


if __name__ == "__main__":
    print(blocks("block")[sys.argv[2]].strip())
