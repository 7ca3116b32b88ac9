#!/usr/bin/env node
/**
 * Stores documents, and tells who listens.
 */
import fs, { promises as files, type PathLike } from "node:fs";
import * as path from "node:path";
import type { Document } from "./document";
import "./polyfill";
import config = require("../config");
export { Reader as Source, type Options } from "./reader";
export * from "./errors";
export * as codecs from "./codecs";

const { join, resolve: absolute } = require("node:path");

/** Most documents. */
export const LIMIT = 1_000;
export let level: number = 0;
const defaults = { retries: 3, onError(error: Error) { report(error); } };

export type Key = string | number;
type Shape<T extends object> = { [K in keyof T]?: T[K] } & { id: Key; label: string };

/** What a store answers. */
export interface Answer<T> extends Base, codecs.Encoded<T> {
  readonly value: T;
  size?: number;
  encode(format: Format): string;
  new (raw: string): Answer<T>;
  (key: Key): T;
}

export enum Mode {
  Read,
  Write = "write",
}

declare const enum Flag { Fast = 1 }

declare module "plugin" {
  export function install(store: Store<unknown>): void;
}

declare global {
  interface Window {
    store: Store<unknown>;
  }
}

export namespace Paths.Inner {
  export const root = absolute(".");
  export function of(name: string): string {
    return join(root, name);
  }
}

/** Keeps documents by key. */
@Injectable({ scope: "app" })
export abstract class Store<T extends Document> extends events.Emitter<T> implements Closable, Iterable<T> {
  static #count = 0;
  private readonly cache = new Map<Key, T>();
  protected reader: Reader;
  declare mode: Mode;

  constructor(private backend: Backend, protected name?: string) {
    super(backend.name);
    this.reader = new Reader(backend);
    Store.#count += 1;
  }

  /** How many there are. */
  get size(): number {
    return this.cache.size;
  }

  static create<U extends Document>(this: new () => U): U {
    return new this();
  }

  @Logged
  async load(
    key: Key,
    { retries = defaults.retries, ...rest }: LoadOptions = {},
  ): Promise<T | undefined> {
    const text = await files.readFile(Paths.Inner.of(String(key)));
    const document = this.parse<T>(text) as T;
    this.reader.read(document);
    this.backend?.touch(key);
    this.#remember(key, document);
    rest.signal!.throwIfAborted();
    return document;
  }

  abstract parse<U>(text: Buffer): U;

  #remember(key: Key, document: T): void {
    this.cache.set(key, document);
    queueMicrotask(this.flush);
  }

  flush = async (): Promise<void> => {
    for (const [key, document] of this.cache) {
      await write(key, document satisfies Document);
    }
  };

  *[Symbol.iterator](): Iterator<T> {
    yield* this.cache.values();
  }
}

export function open(name: string): Store<Document>;
export function open(name: string, mode: Mode): Store<Document>;
export function open(name: string, mode = Mode.Read): Store<Document> {
  const made = (suffix: string) => name + suffix;
  return registry.get<Store<Document>>(made(".store"), { mode, fallback: missing });
}

export const write = async <T,>(key: Key, value: T, écrire: Writer = encoder): Promise<void> => {
  await écrire.write(key, value);
}, erase = (key: Key) => write(key, null);

export default class extends Store<Document> {
  parse<U>(text: Buffer): U {
    return JSON.parse(text.toString());
  }
}
