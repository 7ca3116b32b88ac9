import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Router } from "./lib/router";
import { tasks } from "./routes";
import type { Handler, Middleware } from "./lib/types";

export interface AppOptions {
  port?: number;
  middleware?: Middleware[];
}

/** Puts all parts together. */
export class App {
  private readonly router = new Router();
  #started = false;

  constructor(private readonly options: AppOptions = {}) {
    this.router.mount("/tasks", tasks);
    options.middleware?.forEach((each) => this.use(each));
  }

  use(middleware: Middleware): this {
    this.router.before(middleware);
    return this;
  }

  async start(): Promise<number> {
    const { port = 8080 } = this.options;
    const server = createServer((request, response) => {
      this.handle(request, response).catch(report);
    });
    await new Promise<void>((resolve) => server.listen(port, resolve));
    this.#started = true;
    return port;
  }

  get started(): boolean {
    return this.#started;
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const handler: Handler | undefined = this.router.find(request.method ?? "GET", request.url ?? "/");
    if (!handler) {
      response.writeHead(404).end();
      return;
    }
    await handler({ request, response, params: {} });
  }
}

function report(error: unknown): void {
  console.error(error);
}

export default function main(): Promise<number> {
  return new App().start();
}
