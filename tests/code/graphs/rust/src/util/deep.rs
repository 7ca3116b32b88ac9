pub fn dig() { super::clean() }
