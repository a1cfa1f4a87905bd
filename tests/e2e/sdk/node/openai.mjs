// What the `openai` SDK is asked to do; values as in sdk_calls/openai_calls.py.
import { readFileSync } from "node:fs";
import OpenAI, { toFile } from "openai";

export const version = JSON.parse(readFileSync(new URL("node_modules/openai/package.json", import.meta.url))).version;

const messages = [{ role: "user", content: "ping" }];
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const client = (order) =>
  new OpenAI({ baseURL: order.base_url, apiKey: order.key, maxRetries: order.retries, timeout: 30_000 });
const extra = (order) => ({ headers: order.headers });

const chatUsage = (usage) => ({
  input: usage.prompt_tokens,
  output: usage.completion_tokens,
  cached: usage.prompt_tokens_details.cached_tokens,
  reasoning: usage.completion_tokens_details.reasoning_tokens,
});
const responsesUsage = (usage) => ({
  input: usage.input_tokens,
  output: usage.output_tokens,
  cached: usage.input_tokens_details.cached_tokens,
  reasoning: usage.output_tokens_details.reasoning_tokens,
});
const embeddings = (made) => ({
  vectors: made.data.map((item) => item.embedding),
  model: made.model,
  usage: { input: made.usage.prompt_tokens, total: made.usage.total_tokens },
});
const images = (made) => ({
  images: made.data.length,
  png: made.data.every((item) => Buffer.from(item.b64_json, "base64").subarray(1, 4).toString() === "PNG"),
  usage: { input: made.usage.input_tokens, output: made.usage.output_tokens },
});

export const calls = {
  async chat(order) {
    const made = await client(order).chat.completions.create({ model: order.model, messages }, extra(order));
    return {
      text: made.choices[0].message.content,
      model: made.model,
      usage: chatUsage(made.usage),
      request_id: made._request_id,
    };
  },

  async chat_stream(order) {
    const stream = await client(order).chat.completions.create(
      { model: order.model, messages, stream: true, stream_options: { include_usage: true } },
      extra(order),
    );
    const deltas = [];
    let usage;
    for await (const chunk of stream) {
      deltas.push(...chunk.choices.map((choice) => choice.delta.content).filter(Boolean));
      usage = chunk.usage ?? usage;
    }
    return { text: deltas.join(""), deltas: deltas.length, usage: chatUsage(usage) };
  },

  async responses(order) {
    const made = await client(order).responses.create(
      { model: order.model, input: "ping", reasoning: { effort: "low" }, max_output_tokens: 64 },
      extra(order),
    );
    return {
      text: made.output_text,
      model: made.model,
      status: made.status,
      usage: responsesUsage(made.usage),
      request_id: made._request_id,
    };
  },

  async responses_stream(order) {
    const asked = { model: order.model, input: "ping", stream: true };
    const stream = await client(order).responses.create(asked, extra(order));
    const events = [];
    for await (const event of stream) events.push(event);
    const deltas = events.filter((event) => event.type === "response.output_text.delta");
    return {
      text: deltas.map((event) => event.delta).join(""),
      first: events[0].type,
      last: events.at(-1).type,
      usage: responsesUsage(events.at(-1).response.usage),
    };
  },

  async compact(order) {
    const made = await client(order).responses.compact({ model: order.model, input: "ping" }, extra(order));
    return { object: made.object, types: made.output.map((item) => item.type), usage: responsesUsage(made.usage) };
  },

  async input_tokens(order) {
    const made = await client(order).responses.inputTokens.count({ model: order.model, input: "ping" }, extra(order));
    return { object: made.object, tokens: made.input_tokens };
  },

  async embeddings(order) {
    const asked = { model: order.model, input: ["ping", "pong"] };
    return embeddings(await client(order).embeddings.create(asked, extra(order)));
  },

  async embeddings_as_numbers(order) {
    const asked = { model: order.model, input: "ping", encoding_format: "float" };
    return embeddings(await client(order).embeddings.create(asked, extra(order)));
  },

  async image_generate(order) {
    return images(await client(order).images.generate({ model: order.model, prompt: "a dot", n: 2 }, extra(order)));
  },

  async image_edit(order) {
    const image = await toFile(png, "dot.png", { type: "image/png" });
    return images(await client(order).images.edit({ model: order.model, image, prompt: "a dot" }, extra(order)));
  },

  async models_list(order) {
    const models = [];
    for await (const model of client(order).models.list(extra(order))) models.push(model);
    return { ids: models.map((model) => model.id), objects: [...new Set(models.map((model) => model.object))] };
  },

  async model_retrieve(order) {
    const model = await client(order).models.retrieve(order.model, extra(order));
    return { id: model.id, object: model.object, created_is_int: Number.isInteger(model.created) };
  },
};

// What a program can read off an error.
export const facts = (error) => ({
  message: error.error?.message,
  type: error.type,
  code: error.code,
  param: error.param,
  request_id: error.requestID,
  headers: Object.fromEntries(error.headers),
});
