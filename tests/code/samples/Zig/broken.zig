fn good() u32 { return 1; }
const bad = = 2;
fn fine() u32 { return good(); }
