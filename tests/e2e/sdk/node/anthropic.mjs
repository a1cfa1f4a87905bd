// What `@anthropic-ai/sdk` is asked to do; values as in sdk_calls/anthropic_calls.py.
import { readFileSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";

export const version = JSON.parse(
  readFileSync(new URL("node_modules/@anthropic-ai/sdk/package.json", import.meta.url)),
).version;

const messages = [{ role: "user", content: "ping" }];

const client = (order) =>
  new Anthropic({ baseURL: order.base_url, apiKey: order.key, maxRetries: order.retries, timeout: 30_000 });
const extra = (order) => ({ headers: order.headers });

const message = (made) => ({
  text: made.content.map((block) => block.text ?? "").join(""),
  model: made.model,
  stop_reason: made.stop_reason,
  usage: {
    input: made.usage.input_tokens,
    output: made.usage.output_tokens,
    cache_read: made.usage.cache_read_input_tokens,
    cache_write: made.usage.cache_creation_input_tokens,
  },
});

export const calls = {
  async messages(order) {
    const made = await client(order).messages.create({ model: order.model, max_tokens: 64, messages }, extra(order));
    return { ...message(made), request_id: made._request_id };
  },

  async messages_thinking(order) {
    const thinking = { type: "enabled", budget_tokens: 1024 };
    const system = [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }];
    const asked = { model: order.model, max_tokens: 2048, thinking, system, messages };
    return message(await client(order).messages.create(asked, extra(order)));
  },

  async messages_stream(order) {
    const asked = { model: order.model, max_tokens: 64, messages, stream: true };
    const events = [];
    for await (const event of await client(order).messages.create(asked, extra(order))) events.push(event);
    const deltas = events.filter((event) => event.delta?.type === "text_delta");
    return {
      text: deltas.map((event) => event.delta.text).join(""),
      first: events[0].type,
      last: events.at(-1).type,
    };
  },

  async messages_helper(order) {
    const stream = client(order).messages.stream({ model: order.model, max_tokens: 64, messages }, extra(order));
    let streamed = "";
    stream.on("text", (text) => (streamed += text));
    return { ...message(await stream.finalMessage()), streamed };
  },

  async count_tokens(order) {
    const counted = await client(order).messages.countTokens({ model: order.model, messages }, extra(order));
    return { input: counted.input_tokens };
  },

  async models_list(order) {
    let page = await client(order).models.list({ limit: 2 }, extra(order));
    const pages = [page.data.map((model) => model.id)];
    while (page.hasNextPage()) {
      page = await page.getNextPage();
      pages.push(page.data.map((model) => model.id));
    }
    return { ids: pages.flat(), pages: pages.length, longest: Math.max(...pages.map((ids) => ids.length)) };
  },

  async models_iterate(order) {
    const models = [];
    for await (const model of client(order).models.list({ limit: 2 }, extra(order))) models.push(model);
    return { ids: models.map((model) => model.id), types: [...new Set(models.map((model) => model.type))] };
  },

  async model_retrieve(order) {
    const model = await client(order).models.retrieve(order.model, {}, extra(order));
    const year = new Date(model.created_at).getUTCFullYear();
    return { id: model.id, type: model.type, display_name: model.display_name, year };
  },
};

// What a program can read off an error.
export const facts = (error) => ({
  message: error.error?.error?.message,
  type: error.error?.error?.type,
  code: error.error?.error?.details?.error_code,
  request_id: error.requestID,
  body_request_id: error.error?.request_id,
  headers: Object.fromEntries(error.headers),
});
