def checked(x):
    return x
