import { Router, joined } from "../lib/router";
import type { Context } from "../lib/types";

export interface Task {
  id: string;
  title: string;
  done?: boolean;
}

const kept = new Map<string, Task>();

export const tasks = new Router();

tasks.get("/", list);
tasks.post("/", create);
tasks.get(joined("", ":id"), async ({ params, response }: Context<{ id: string }>) => {
  const found = kept.get(params.id);
  response.end(found ? encode(found) : "");
});

async function list({ response }: Context): Promise<void> {
  response.end([...kept.values()].map(encode).join("\n"));
}

async function create(context: Context): Promise<void> {
  const task = await read<Task>(context.request);
  kept.set(task.id, task);
  context.response.writeHead(201).end(encode(task));
}

async function read<T>(stream: AsyncIterable<Buffer>): Promise<T> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString()) as T;
}

function encode(task: Task): string {
  return JSON.stringify(task);
}
