pub mod deep;
pub fn clean() {}
