"""Writes `remit.built_tables` into the package that is to be frozen: what every run would work out anew."""

import ast
import pathlib

import remit
from remit.config.providers import catalog_tables
from remit.tools import registry
from remit.tools.contract import params_name, schema_of
from remit.tools.harness.tool_search import ToolSearch

params = [ToolSearch.Params, *(tool.Params for tool in registry.all_tools().values())]
tables = {
    "PLACES": registry.places(),
    "SCHEMAS": {params_name(each): schema_of(each) for each in params},
    "CATALOG": catalog_tables(),
}
text = "".join(f"{name} = {table!r}\n" for name, table in tables.items())
for line, table in zip(text.splitlines(), tables.values(), strict=True):
    assert ast.literal_eval(line.partition(" = ")[2]) == table
pathlib.Path(remit.__file__).with_name("built_tables.py").write_text(text)
