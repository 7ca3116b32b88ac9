const std = @import("std");
const store = @import("store.zig");
const Store = store.Store;
pub fn main() !void {
    var s = Store.init();
    s.saveAll();
    helped(store.limit);
    store.util.twice();
}
fn helped(x: u32) void { _ = x; }
test "main runs" { try main(); }
