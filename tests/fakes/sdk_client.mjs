// A program on the official TypeScript client: `node sdk_client.mjs SCENARIO`, with options as JSON on stdin.
// It prints each message as a line of JSON, and what its callbacks saw as {"type": "seen", ...}.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { text } from "node:stream/consumers";

const { modules, ...given } = JSON.parse(await text(process.stdin));
const require = createRequire(modules + "/");
const load = async (name) => import(pathToFileURL(require.resolve(name)).href);
const { query, tool, createSdkMcpServer } = await load("@anthropic-ai/claude-agent-sdk");
const { z } = await load("zod");

const tell = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const seen = (what) => tell({ type: "seen", ...what });

async function* one(content) {
  yield { type: "user", message: { role: "user", content }, parent_tool_use_id: null };
}

function deferred() {
  let resolve;
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
}

async function asked(prompt, more = {}, each = async () => {}) {
  const running = query({ prompt, options: { ...given, ...more } });
  for await (const message of running) {
    tell(message);
    await each(message, running);
  }
}

const scenarios = {
  question: () => asked("what is in a.txt?"),
  allow: () =>
    asked(one("write"), {
      canUseTool: async (name, input) => {
        seen({ name, input });
        return { behavior: "allow", updatedInput: { ...input, content: "B" } };
      },
    }),
  deny: () =>
    asked(one("write"), { canUseTool: async () => ({ behavior: "deny", message: "not here" }) }),
  answer: () =>
    asked(one("ask me"), {
      canUseTool: async (name, input) => {
        seen({ name, input });
        const answers = Object.fromEntries(input.questions.map((each) => [each.question, each.options[0].label]));
        return { behavior: "allow", updatedInput: { ...input, answers } };
      },
    }),
  interrupt: () => {
    // The client closes its side with the last message, so that one stays open which is never sent.
    const over = deferred();
    async function* open() {
      yield* one("go");
      await over.promise;
    }
    return asked(open(), {}, async (message, running) => {
      if (message.type === "assistant") await running.interrupt();
      if (message.type === "result") over.resolve();
    });
  },
  schema: () => {
    const schema = z.toJSONSchema(z.object({ total: z.number() }), { target: "draft-7" });
    return asked("count", { outputFormat: { type: "json_schema", schema } });
  },
  server: () => {
    const add = tool("add", "Add two numbers", { a: z.number(), b: z.number() }, async ({ a, b }) => {
      seen({ a, b });
      return { content: [{ type: "text", text: String(a + b) }] };
    });
    const demo = createSdkMcpServer({ name: "demo", tools: [add] });
    return asked(one("add"), { mcpServers: { demo }, allowedTools: ["mcp__demo__add"] });
  },
};

try {
  await scenarios[process.argv[2]]();
} catch (problem) {
  tell({ type: "failed", message: String(problem?.message ?? problem) });
}
process.exit(0);
