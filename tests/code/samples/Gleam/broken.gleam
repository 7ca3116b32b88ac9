pub fn good() { 1 }
pub fn bad( { }
pub fn fine() { good() }
