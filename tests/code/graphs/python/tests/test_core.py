from pkg import Engine, helper
import pkg
def test_run():
    e = Engine(None)
    e.run()
    helper()
    pkg.helper()
    x.save_all_now()
