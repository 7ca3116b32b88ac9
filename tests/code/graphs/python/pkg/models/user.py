class User:
    def save(self): pass
    def save_all_now(self): pass
def load(): return User()
