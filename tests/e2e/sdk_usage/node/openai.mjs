// What the `openai` SDK reports as used; as in calls/openai_usage_calls.py.
import { facts as headed, version } from "../../sdk/node/openai.mjs";
import { require, telling } from "./told.mjs";

export { version };
// An error in the middle of a stream has no headers.
export const facts = (error) => headed({ ...error, headers: error.headers ?? new Headers() });

const { OpenAI, toFile } = require("openai");

const messages = [{ role: "user", content: "ping" }];
const png = Buffer.from("iVBORw0KGgo=", "base64");
const streamed = { stream: true, stream_options: { include_usage: true } };

const client = (order) =>
  new OpenAI({ baseURL: order.base_url, apiKey: order.key, maxRetries: order.retries, timeout: 30_000 });
const extra = (order) => ({ headers: order.headers });

const calls = {
  async chat(order, told) {
    const made = await client(order).chat.completions.create({ model: order.model, messages }, extra(order));
    told.usage = made.usage ?? null;
    told.request_id = made._request_id;
  },

  async chat_stream(order, told) {
    const asked = { model: order.model, messages, ...streamed };
    for await (const chunk of await client(order).chat.completions.create(asked, extra(order)))
      told.usage = chunk.usage ?? told.usage;
  },

  async chat_helper(order, told) {
    const asked = { model: order.model, messages, ...streamed };
    const made = await client(order).chat.completions.stream(asked, extra(order)).finalChatCompletion();
    told.usage = made.usage ?? null;
  },

  async responses(order, told) {
    const made = await client(order).responses.create({ model: order.model, input: "ping" }, extra(order));
    told.usage = made.usage ?? null;
    told.request_id = made._request_id;
  },

  async responses_stream(order, told) {
    const asked = { model: order.model, input: "ping", stream: true };
    told.last = null;
    for await (const event of await client(order).responses.create(asked, extra(order))) {
      told.last = event.type;
      told.usage = event.response?.usage ?? null;
    }
  },

  async responses_helper(order, told) {
    const stream = client(order).responses.stream({ model: order.model, input: "ping" }, extra(order));
    told.usage = (await stream.finalResponse()).usage ?? null;
  },

  async images(order, told) {
    const made = await client(order).images.generate({ model: order.model, prompt: "a dot" }, extra(order));
    told.usage = made.usage ?? null;
    told.images = made.data.length;
  },

  async images_edit(order, told) {
    const image = await toFile(png, "dot.png", { type: "image/png" });
    const made = await client(order).images.edit({ model: order.model, image, prompt: "a dot" }, extra(order));
    told.usage = made.usage ?? null;
    told.images = made.data.length;
  },

  async images_stream(order, told) {
    const asked = { model: order.model, prompt: "a dot", stream: true };
    told.images = 0;
    for await (const event of await client(order).images.generate(asked, extra(order))) {
      if (event.type !== "image_generation.completed") continue;
      told.usage = event.usage ?? null;
      told.images += 1;
    }
  },
};

const told = telling(calls, facts);
export { told as calls };
