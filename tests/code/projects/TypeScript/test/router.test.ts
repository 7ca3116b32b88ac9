import { describe, expect, it } from "vitest";
import { Router } from "../src/lib/router";

const nothing = () => {};

describe("Router", () => {
  it("finds what was added", () => {
    const router = new Router();
    router.get("/a", nothing);
    expect(router.find("GET", "/a")).toBeDefined();
  });

  it("knows no others", async () => {
    expect(new Router().find("GET", "/")).toBeUndefined();
  });
});
