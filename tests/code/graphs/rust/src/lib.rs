pub mod store;
mod util;
pub use crate::store::Store;
pub fn run() { let s = Store::new(); s.get(); util::clean(); }
