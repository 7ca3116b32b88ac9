object Good { def one = 1 }
object Bad { def two( = }
object Fine { def three = Good.one }
