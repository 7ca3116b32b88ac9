load(":util.bzl", "checked")
def shop_library(name, **kwargs):
    checked(name)
def _impl(ctx):
    return checked(ctx)
shop_binary = rule(implementation = _impl)
