export { tasks } from "./tasks";
export * as health from "./health";
