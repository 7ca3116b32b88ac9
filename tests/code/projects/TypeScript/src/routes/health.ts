import type { Handler } from "../lib/types";

let checks: Array<() => boolean> = [];

export function check(probe: () => boolean): void {
  checks.push(probe);
}

export const health: Handler = ({ response }) => {
  response.end(checks.every((each) => each()) ? "ok" : "failing");
};
