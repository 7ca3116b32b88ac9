import shop
pub fn run_test() { shop.run(1) }
