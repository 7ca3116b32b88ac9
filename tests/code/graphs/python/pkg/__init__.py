from pkg.core import Engine as Engine
from .util import helper
