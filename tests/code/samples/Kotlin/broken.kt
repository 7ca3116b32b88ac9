fun good() = 1
fun bad( = 
class Fine { fun ok() = good() }
