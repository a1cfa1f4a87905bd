// What `@anthropic-ai/sdk` reports as used; as in calls/anthropic_usage_calls.py.
import { facts as headed, version } from "../../sdk/node/anthropic.mjs";
import { require, telling } from "./told.mjs";

export { version };
// An error in the middle of a stream may have no headers.
export const facts = (error) =>
  headed({ error: error.error, requestID: error.requestID, headers: error.headers ?? new Headers() });

const { Anthropic } = require("@anthropic-ai/sdk");

const messages = [{ role: "user", content: "ping" }];

const client = (order) =>
  new Anthropic({ baseURL: order.base_url, apiKey: order.key, maxRetries: order.retries, timeout: 30_000 });
const asked = (order) => ({ model: order.model, max_tokens: 64, messages });
const extra = (order) => ({ headers: order.headers });

const calls = {
  async messages(order, told) {
    const made = await client(order).messages.create(asked(order), extra(order));
    told.usage = made.usage;
    told.request_id = made._request_id;
  },

  async messages_stream(order, told) {
    told.last = null;
    for await (const event of await client(order).messages.create({ ...asked(order), stream: true }, extra(order)))
      told.last = event.type;
  },

  async messages_helper(order, told) {
    const stream = client(order).messages.stream(asked(order), extra(order));
    let made;
    try {
      made = await stream.finalMessage();
    } finally {
      told.usage = (made ?? stream.currentMessage)?.usage ?? null;
    }
  },

  async count_tokens(order, told) {
    const counted = await client(order).messages.countTokens({ model: order.model, messages }, extra(order));
    told.total = counted.input_tokens;
  },
};

const told = telling(calls, facts);
export { told as calls };
