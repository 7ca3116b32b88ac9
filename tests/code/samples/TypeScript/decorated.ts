import Panel, { Input, Output as Emits } from "@ui/core";
import * as events from "../events.js";
import type { Theme } from "./theme";
import "./panel.css";
export { default } from "./panel";
export { default as Frame, frames } from "./frame";
export * from "./parts";

export const LIMIT = 10;
export let first = 1, second = 2;
export const area = (side: number) => side * side;

@Component({ selector: "app-panel" })
@Sealed
// Kept apart from the class.
export class Shown<T> extends Panel implements events.Source {
  @Input() title: string;
  @Emits()
  changed = new events.Emitter();

  constructor(@Inject(THEME) private readonly theme: Theme) {
    super();
  }

  @Host("window:resize", ["$event.target.innerWidth", "$event.target.innerHeight"])
  @Debounced
  async resized(width: number): Promise<void> {
    await this.changed.emit(width);
  }

  @Memo get value() {
    return area(LIMIT);
  }
}

@Plain
abstract class Bare {
  abstract draw(): void;
}
