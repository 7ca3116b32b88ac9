def good():
    return 1

def bad(:
    return

def fine(x):
    return good(x)
