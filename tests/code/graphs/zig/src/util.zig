pub fn twice() void {}
