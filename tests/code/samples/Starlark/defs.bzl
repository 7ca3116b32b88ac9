"""Rules of the shop."""

ShopInfo = provider(fields = ["files"])

def _shop_impl(ctx, extra = None, *rest, **more):
    """Links it."""
    files = depset(ctx.files.srcs)

    def add(file):
        return _checked(file)

    extra(ctx)
    return [ShopInfo(files = files), add(files)]

def _checked(file):
    if not file:
        fail("no file")
    return file

shop_binary = rule(
    implementation = _shop_impl,
    attrs = {"srcs": attr.label_list()},
)
