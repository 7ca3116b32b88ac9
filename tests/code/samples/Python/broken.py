"""A file with an error."""

import os


class Before:
    def first(self):
        return os.getcwd()

    def torn(self, a):
        if a > :
            return 1 +
        x = = 2

    def second(self):
        return self.first()


def after(value):
    return Before().second()
