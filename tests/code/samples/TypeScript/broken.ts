export interface Before {
  name: string;
}

export class Whole {
  greet(): string {
    return hello();
  }

  torn(a: number): void {
    const x = ;
    if (a > ) {
      call(, a);
    }
  }

  after(): void {
    this.greet();
  }
}

export function last(before: Before) {
  return before.name;
}
