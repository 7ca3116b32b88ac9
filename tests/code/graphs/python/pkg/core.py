from __future__ import annotations
import os
from . import util
from .util import helper as h
from pkg.models.user import User
import pkg.models.user as users

class Base:
    def start(self): self.prepare()
    def prepare(self): pass

class Engine(Base):
    def __init__(self, user: User):
        super().__init__()
        self.user = User()
        self.other = user
    def run(self):
        h(); util.helper(); users.load(); os.getcwd()
        self.start()
        self.user.save()
        def inner(): self.run()
        inner()
    @property
    def size(self): return len(self.items)
def make(): return Engine(User())
