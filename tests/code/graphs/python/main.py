from pkg.core import *
make()
