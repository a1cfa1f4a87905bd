// What `@google/genai` is asked to do; values as in sdk_calls/genai_calls.py.
import { readFileSync } from "node:fs";
import { GoogleGenAI } from "@google/genai";

export const version = JSON.parse(
  readFileSync(new URL("node_modules/@google/genai/package.json", import.meta.url)),
).version;

const client = (order) =>
  new GoogleGenAI({
    apiKey: order.key,
    apiVersion: order.api_version ?? undefined,
    httpOptions: { baseUrl: order.base_url, timeout: 30_000 },
  });
const config = (order, settings = {}) => ({ ...settings, httpOptions: { headers: order.headers } });

const answer = (made) => ({
  text: made.text,
  model: made.modelVersion,
  usage: {
    input: made.usageMetadata.promptTokenCount,
    output: made.usageMetadata.candidatesTokenCount,
    cached: made.usageMetadata.cachedContentTokenCount,
    reasoning: made.usageMetadata.thoughtsTokenCount,
    total: made.usageMetadata.totalTokenCount,
  },
});

export const calls = {
  async generate(order) {
    const settings = { thinkingConfig: { thinkingBudget: 128 }, maxOutputTokens: 64 };
    const asked = { model: order.model, contents: "ping", config: config(order, settings) };
    return answer(await client(order).models.generateContent(asked));
  },

  async generate_stream(order) {
    const asked = { model: order.model, contents: "ping", config: config(order) };
    const chunks = [];
    for await (const chunk of await client(order).models.generateContentStream(asked)) chunks.push(chunk);
    const text = chunks.map((chunk) => chunk.text ?? "").join("");
    return { ...answer(chunks.at(-1)), text, several: chunks.length > 1 };
  },

  async count_tokens(order) {
    const asked = { model: order.model, contents: "ping", config: config(order) };
    return { total: (await client(order).models.countTokens(asked)).totalTokens };
  },

  async embed(order) {
    const asked = { model: order.model, contents: "ping", config: config(order) };
    return { values: (await client(order).models.embedContent(asked)).embeddings[0].values };
  },

  async models_list(order) {
    const pager = await client(order).models.list({ config: config(order, { pageSize: 3 }) });
    const first = pager.page.length;
    const names = [];
    for await (const model of pager) names.push(model.name);
    return { names, first_page: first };
  },

  async model_get(order) {
    const model = await client(order).models.get({ model: order.model, config: config(order) });
    const generates = (model.supportedActions ?? []).includes("generateContent");
    return { name: model.name, display_name: model.displayName, generates };
  },
};

// What a program can read off an error: its message is the body, and there are no headers.
export const facts = (error) => {
  const { message, status, code, details } = JSON.parse(error.message).error;
  return { message, type: status, code: Array.isArray(details) ? details[0].reason : code };
};
