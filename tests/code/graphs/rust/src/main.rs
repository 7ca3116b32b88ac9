use acme::run;
fn main() { run(); }
