export class Store {
  private items: string[] = [];
  add(x: string) { this.check(x); }
  check(x: string) { return x; }
}
export function makeStore(): Store { return new Store(); }
