import type { IncomingMessage, ServerResponse } from "node:http";

export type Method = "GET" | "POST" | "DELETE";

export interface Context<P extends object = Record<string, string>> {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  params: P;
  json?(value: unknown): void;
}

export type Handler<P extends object = any> = (context: Context<P>) => void | Promise<void>;

export interface Middleware {
  (context: Context, next: () => Promise<void>): Promise<void>;
  label?: string;
}

export enum Level {
  Debug,
  Info = 10,
  Error = "error",
}

export namespace Guards {
  export function isMethod(text: string): text is Method {
    return ["GET", "POST", "DELETE"].includes(text);
  }

  export class GuardError extends Error {
    constructor(readonly value: unknown) {
      super(`not expected: ${value}`);
    }
  }
}

declare global {
  interface Array<T> {
    last(): T | undefined;
  }
}
