function before () {
  return 1
}

class Whole {
  first () { return before() }

  torn (a) {
    const x = ;
    if (a > ) {
      call(, a)
    }
  }

  second () { return this.first() }
}

const y = [1, 2 3]

export const after = () => before()
