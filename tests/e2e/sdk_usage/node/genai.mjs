// What `@google/genai` reports as used; as in calls/genai_usage_calls.py.
import { facts as parsed, version } from "../../sdk/node/genai.mjs";
import { require, telling } from "./told.mjs";

export { version };
// Its message is the body; in the middle of a stream with some words before it.
export const facts = (error) => parsed({ message: error.message.slice(error.message.indexOf("{")) });

const { GoogleGenAI } = require("@google/genai");

const client = (order) =>
  new GoogleGenAI({ apiKey: order.key, httpOptions: { baseUrl: order.base_url, timeout: 30_000 } });
const asked = (order) => ({
  model: order.model,
  contents: "ping",
  config: { httpOptions: { headers: order.headers } },
});

const calls = {
  async generate(order, told) {
    told.usage = (await client(order).models.generateContent(asked(order))).usageMetadata ?? null;
  },

  async generate_stream(order, told) {
    for await (const chunk of await client(order).models.generateContentStream(asked(order)))
      told.usage = chunk.usageMetadata ?? told.usage;
  },

  async count_tokens(order, told) {
    told.total = (await client(order).models.countTokens(asked(order))).totalTokens;
  },
};

const told = telling(calls, facts);
export { told as calls };
