func good() -> Int { 1 }
func bad( { }
struct Fine { func ok() { good() } }
