//! The shop.
const std = @import("std");
const money = @import("money.zig");
const Price = money.Price;

pub const limit: u32 = 10;
var counter: usize = 0;

/// Goods.
pub const Basket = struct {
    owner: []const u8,
    total: u32 = 0,

    const Self = @This();

    /// Adds.
    pub fn add(self: *Self, item: Item) !void {
        const x = helper(item);
        try self.check(x);
        std.debug.print("{}", .{x});
        _ = Price.zero();
    }
    fn check(self: *Self, x: u32) !void { _ = self; _ = x; }
};

pub const Mood = enum { happy, sad, pub fn label(m: Mood) []const u8 { return @tagName(m); } };
const Shape = union(enum) { circle: f32, square: f32 };
const Errors = error{ Full, Empty };
fn helper(item: Item) u32 { return item.price(); }
export fn exported() void {}
extern fn puts(s: [*]const u8) c_int;
fn Generic(comptime T: type) type { return struct { value: T, fn get(s: @This()) T { return s.value; } }; }
test "adds things" { try std.testing.expect(helper(.{}) == 1); }
test helper { }
