import { describe, expect, it, test } from "vitest";
import { open } from "./store";

const made = () => open("made");

describe("Store", () => {
  beforeEach(() => reset());

  it("loads what was written", async () => {
    const store = made();
    expect(await store.load("a")).toBe(undefined);
  });

  it.skip('refuses `more`', function () {
    open("full");
  });

  test.each([1, 2])("takes %d", (count) => {
    made().load(count);
  });
});

test(`stands alone`, () => {});
