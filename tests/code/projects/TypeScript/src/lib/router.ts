import { Guards, type Handler, type Method, type Middleware } from "./types";

interface Route {
  method: Method;
  pattern: RegExp;
  handler: Handler;
}

export abstract class Registry<T> implements Iterable<T> {
  protected readonly entries: T[] = [];

  abstract accepts(entry: T): boolean;

  add(entry: T): void {
    if (!this.accepts(entry)) throw new Guards.GuardError(entry);
    this.entries.push(entry);
  }

  *[Symbol.iterator](): Iterator<T> {
    yield* this.entries;
  }
}

export class Router extends Registry<Route> {
  private chain: Middleware[] = [];
  static readonly empty = new Router();

  accepts(entry: Route): boolean {
    return Guards.isMethod(entry.method);
  }

  get = (path: string, handler: Handler): void => this.route("GET", path, handler);

  post = (path: string, handler: Handler): void => {
    this.route("POST", path, handler);
  };

  route(method: Method, path: string, handler: Handler): void {
    this.add({ method, pattern: compile(path), handler });
  }

  before(middleware: Middleware): void {
    this.chain = [...this.chain, middleware];
  }

  mount(prefix: string, other: Router): void {
    for (const { method, pattern, handler } of other) {
      this.add({ method, pattern: new RegExp(prefix + pattern.source), handler });
    }
  }

  find(method: string, url: string): Handler | undefined {
    const found = this.entries.find((each) => each.method === method && each.pattern.test(url));
    return found && wrap(found.handler, this.chain);
  }
}

function compile(path: string): RegExp;
function compile(path: RegExp): RegExp;
function compile(path: string | RegExp): RegExp {
  return path instanceof RegExp ? path : new RegExp(path.replace(/:(\w+)/g, "(?<$1>[^/]+)"));
}

const wrap = (handler: Handler, chain: Middleware[]): Handler =>
  chain.reduceRight<Handler>((inner, each) => (context) => each(context, async () => inner(context)), handler);

export const joined = (...parts: string[]) => parts.join("/");
