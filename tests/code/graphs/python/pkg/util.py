def helper(): return _low()
def _low(): return 1
