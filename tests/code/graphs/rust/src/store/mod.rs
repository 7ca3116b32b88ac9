use crate::util::{clean, deep::dig as d};
use super::util;
pub struct Store { n: u32 }
pub trait Saves { fn save_it(&self); }
impl Store {
    pub fn new() -> Self { Self::build() }
    fn build() -> Store { Store { n: 0 } }
    pub fn get(&self) -> u32 { self.look_up() }
    fn look_up(&self) -> u32 { clean(); d(); util::clean(); 1 }
}
impl Saves for Store { fn save_it(&self) { self.get(); } }
#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn works() { let s = Store::new(); s.get(); }
}
