"""What people install: builds the source distribution, from it the wheel, and tries that in an environment of its own.

    python tests/check_wheel.py

Packages of the build and of remit itself come from the configured index. Exits 1 where anything is amiss.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GRAMMARS = "remit/_grammars/"

TRIAL = """
import sys
from pathlib import Path
import remit
from remit.code.grammars import FOLDER, grammar
from remit.code.installed import missing_grammars
from remit.code.languages import LANGUAGES, by_name
from remit.code.pool import Job, Pool

place = Path(remit.__file__).resolve()
assert Path(sys.prefix).resolve() in place.parents, place
assert Path(sys.prefix).resolve() in FOLDER.parents, FOLDER
assert not missing_grammars(), missing_grammars()
for each in LANGUAGES:
    grammar(each.grammar)
pool = Pool(1)
facts = pool.read_one(Job(b"", "Python", b"def one(): pass\\n"), lambda: None)
pool.close()
assert [each.name for each in facts.definitions] == ["one"], facts
print(f"{len(LANGUAGES)} languages from {FOLDER}")
"""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "built"
        run([sys.executable, "-m", "build", "--outdir", str(built), str(ROOT)])
        [source], [wheel] = built.glob("*.tar.gz"), built.glob("*.whl")
        check_source(source)
        check_wheel(wheel)
        try_out(wheel, Path(folder))
    print("the wheel is fit to be installed")
    return 0


def check_source(source: Path) -> None:
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "cli/build_grammars.py", "cli/remit/__main__.py", "README.md"} <= names
    assert not [name for name in names if "_grammars/" in name], "grammars are built for one platform"


def check_wheel(wheel: Path) -> None:
    sys.path.insert(0, str(ROOT / "cli"))
    from remit.code.languages import LANGUAGES

    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        notice = archive.read(f"{GRAMMARS}NOTICE").decode()
        size = sum(each.compress_size for each in archive.infolist())
    languages = {each.grammar for each in LANGUAGES}
    assert {f"{GRAMMARS}{language}.xz" for language in languages} <= names
    assert {line.partition(":")[0] for line in notice.splitlines()} == languages
    assert not [name for name in names if name.startswith(("tests/", "cli/"))]
    assert "none-any" not in wheel.name, f"{wheel.name} holds libraries of one platform"
    print(f"{wheel.name}: {size / 2**20:.1f} MiB, {len(languages)} grammars")


def try_out(wheel: Path, folder: Path) -> None:
    place = folder / "venv"
    venv.create(place, with_pip=True)
    python = str(place / "bin" / "python")
    run([python, "-m", "pip", "install", "--quiet", str(wheel)])
    run([python, "-I", "-c", TRIAL], cwd=folder)
    run([str(place / "bin" / "remit"), "--version"], cwd=folder)
    run([str(place / "bin" / "remit"), "run", "--example", "sales-report", "-o", "out", "-n"], cwd=folder)


def run(command: list[str], cwd: Path | None = None) -> None:
    print("+", *(part if "\n" not in part else "..." for part in command), flush=True)
    subprocess.run(command, cwd=cwd, check=True)


if __name__ == "__main__":
    sys.exit(main())
