//! Entries of a ledger,
//! and what is done with them.

const std = @import("std");
const builtin = @import("builtin");
const Money = @import("money.zig").Money;
const Allocator = std.mem.Allocator;
const testing = std.testing;
usingnamespace @import("c.zig");

pub const Error = error{ Empty, TooLarge } || Allocator.Error;

/// What an entry is.
pub const Kind = enum(u8) {
    credit = 1,
    debit,
    _,

    pub fn sign(self: Kind) i8 {
        return switch (self) {
            .credit => 1,
            else => -1,
        };
    }
};

pub const Value = union(Kind) {
    credit: Money,
    debit: struct { amount: Money, fee: u32 },
};

/// An entry.
pub const Entry = extern struct {
    id: u64,
    amount: i64 = 0,
    next: ?*Entry = null,

    pub const empty: Entry = .{ .id = 0 };
    var made: usize = 0;

    pub inline fn isEmpty(self: *const Entry) bool {
        return self.id == empty.id;
    }
};

const Header = packed struct(u32) { version: u8, rest: u24 };

pub fn Ledger(comptime T: type) type {
    return struct {
        const Self = @This();

        allocator: Allocator,
        entries: std.ArrayListUnmanaged(T) = .{},

        pub fn init(allocator: Allocator) Self {
            return .{ .allocator = allocator };
        }

        pub fn deinit(self: *Self) void {
            self.entries.deinit(self.allocator);
        }

        /// Adds it.
        pub fn add(self: *Self, entry: T) Error!usize {
            if (self.entries.items.len >= limit) return error.TooLarge;
            errdefer log("no room for {}", .{entry});
            try self.entries.append(self.allocator, entry);
            const kept = try check(entry);
            for (self.entries.items, 0..) |each, index| {
                if (each.amount == kept.amount) return index;
            }
            while (next()) |found| : (count += 1) {
                _ = found;
            }
            return self.total() catch |err| switch (err) {
                else => 0,
            };
        }

        fn total(self: *const Self) !usize {
            return self.entries.items.len;
        }
    };
}

pub const limit: usize = 100;
threadlocal var count: usize = 0;
export var version: c_int = 3;
extern "c" fn puts(text: [*:0]const u8) c_int;

fn check(entry: anytype) Error!@TypeOf(entry) {
    return entry;
}

fn next() ?u8 {
    return null;
}

fn log(comptime format: []const u8, args: anytype) void {
    std.log.info(format, args);
}

comptime {
    _ = Entry;
}

test "entries are added" {
    var ledger = Ledger(Entry).init(testing.allocator);
    defer ledger.deinit();
    try testing.expectEqual(@as(usize, 0), try ledger.add(.{ .id = 1 }));
}

test {
    testing.refAllDecls(@This());
}
