@named("shape") @sealed
export class Shape {
  @observed
  sides = 3;
  @bound draw() {
    return this.sides;
  }
}

export default @named("round") class {}
