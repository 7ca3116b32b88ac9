"""Imports of the one-file program: every module is a piece of one file, found by its name in a table.

PyInstaller's own importer looks into each place of the path in turn, and opens, reads and decompresses a piece of the
executable for each module, which is a third of what a run takes to start. What is not in the table it still finds:
packages that are only folders.
"""

import _imp
import marshal
import os
import sys

# Under their names in `importlib` they are themselves to be found here.
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import ExtensionFileLoader, SourcelessFileLoader
from mmap import ACCESS_READ, mmap

PLACE = sys._MEIPASS + os.sep


class Piece(SourcelessFileLoader):
    """The loader of one module. path: where its file would be, beside which packages keep their data."""

    def __init__(self, name, path, code):
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname):
        return marshal.loads(self._code)


class Pieces:
    """The finder. table: offset from `start`, size, and whether it is a package, by name; of an extension module its
    file. everything: the file that the pieces are in, mapped: helpers close all descriptors, and may open nothing."""

    def __init__(self, table, start, everything):
        self._table = table
        self._start = start
        self._everything = memoryview(everything)

    def find_spec(self, name, path=None, target=None):
        found = self._table.get(name)
        if found is None or _imp.is_frozen(name):
            return None
        if isinstance(found, str):
            return _spec(name, ExtensionFileLoader(name, PLACE + found), PLACE + found)
        offset, size, is_package = found
        place = PLACE + name.replace(".", os.sep)
        file = f"{place}{os.sep}__init__.pyc" if is_package else f"{place}.pyc"
        at = self._start + offset
        spec = _spec(name, Piece(name, file, self._everything[at : at + size]), file)
        if is_package:
            spec.submodule_search_locations = [place]
        return spec


def _spec(name, loader, file):
    spec = ModuleSpec(name, loader, origin=file)
    spec.has_location = True
    return spec


def _pieces():
    fd = os.open(PLACE + "modules.bin", os.O_RDONLY | os.O_CLOEXEC)
    everything = mmap(fd, 0, access=ACCESS_READ)
    os.close(fd)
    start = 8 + int.from_bytes(everything[:8], "little")
    return Pieces(marshal.loads(everything[8:start]), start, everything)


# Behind the importers of what is built in, before those that look around.
sys.meta_path.insert(2, _pieces())
