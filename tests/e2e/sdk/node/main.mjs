// Calls of the official Node SDKs, made on order: `node main.mjs openai|anthropic|genai`. The orders and answers are
// those of sdk_calls/__main__.py, so that one table of expectations holds for both languages.
import { createInterface } from "node:readline";

const { calls, facts, version } = await import(`./${process.argv[2]}.mjs`);
console.log(JSON.stringify({ version }));

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  const started = performance.now();
  let told;
  try {
    told = { value: await calls[order.call](order) };
  } catch (error) {
    told = error.status
      ? { error: { class: error.constructor.name, status: error.status, text: error.message, ...facts(error) } }
      : { failed: String(error?.stack ?? error) };
  }
  console.log(JSON.stringify({ ...told, seconds: (performance.now() - started) / 1000 }));
}
