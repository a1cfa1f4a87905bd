// How far the estimates of docs/estimates.md are from a real tokenizer (o200k, of the package gpt-tokenizer).
//
// Input: the captured requests in tests/fixtures/requests, whose sizes the filter's own scanner gives on standard input.
// What a vendor counts is not known; taken for it are the tokens of every text in the body and of the tools as JSON.
// Output: what models write is prose, code and JSON; taken for it are this repository's pages, sources and the
// arguments in it.
//
// node measure.mjs < sizes.jsonl      prints two tables in Markdown

import { readFileSync, readdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { encode } from "gpt-tokenizer/encoding/o200k_base";

const BYTES_PER_TOKEN = 4;

const tokens = (text) => encode(text, { allowedSpecial: "all" }).length;
const percent = (ratio) => `${ratio >= 1 ? "+" : "−"}${Math.abs(Math.round((ratio - 1) * 100))} %`;
const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];

/** Every text of a value, but those of members that hold no words for a model. */
function texts(value, found = []) {
  if (typeof value === "string") found.push(value);
  else if (Array.isArray(value)) value.forEach((item) => texts(item, found));
  else if (value && typeof value === "object")
    for (const [key, item] of Object.entries(value)) {
      if (["type", "role", "id", "tool_use_id", "call_id", "cache_control"].includes(key)) continue;
      texts(item, found);
    }
  return found;
}

/** The tokens that a model is given of a request. */
function truth(body) {
  let sum = 0;
  for (const [key, value] of Object.entries(body)) {
    if (["messages", "input", "contents", "system", "instructions", "systemInstruction", "prompt"].includes(key))
      for (const text of texts(value)) sum += tokens(text) + 1;
    else if (key === "tools") sum += tokens(JSON.stringify(value));
  }
  return sum;
}

const rows = new Map();
for await (const line of createInterface({ input: process.stdin })) {
  const size = JSON.parse(line);
  if (size.images + size.audios + size.files > 0) continue;
  const request = readFileSync(size.path);
  const body = JSON.parse(request.subarray(request.indexOf("\r\n\r\n") + 4).toString());
  const want = truth(body);
  if (want === 0) continue;
  const kind = size.text_bytes < 1024 ? "under 1 KiB" : size.text_bytes < 16384 ? "1 to 16 KiB" : "over 16 KiB";
  const row = rows.get(kind) ?? rows.set(kind, []).get(kind);
  const estimate = Math.ceil(size.text_bytes / BYTES_PER_TOKEN);
  row.push({ ratio: estimate / want, more: estimate - want });
}

console.log("| request bodies | requests | error, median | middle half | tokens too many, median |");
console.log("|---|---|---|---|---|");
for (const kind of ["under 1 KiB", "1 to 16 KiB", "over 16 KiB"]) {
  const row = rows.get(kind) ?? [];
  if (!row.length) continue;
  const ratios = row.map(({ ratio }) => ratio).sort((a, b) => a - b);
  const more = row.map(({ more }) => more).sort((a, b) => a - b);
  const [low, middle, high] = [0.25, 0.5, 0.75].map((q) => percent(quantile(ratios, q)));
  console.log(`| ${kind} | ${row.length} | ${middle} | ${low} to ${high} | ${quantile(more, 0.5)} |`);
}

const read = (folder, ending) =>
  readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(ending) && !name.includes("node_modules"))
    .sort()
    .map((name) => readFileSync(`${folder}/${name}`, "utf8"))
    .join("\n")
    .slice(0, 400_000);

const chinese =
  "人工智能网关把三种协议放在同一个密钥之后。它检查密钥,决定密钥可以做什么,并对返回的内容计量和计价。" +
  "如果上游没有报告用量,网关就按照文本的长度估算,并在账本中标记出来。";
const samples = {
  "English prose (the pages in docs/)": read("docs", ".md"),
  "Rust (src/)": read("src", ".rs"),
  "Python (tests/)": read("tests/e2e", ".py"),
  "JSON (the dashboard)": readFileSync("envoy/grafana/dashboard.json", "utf8"),
  "Chinese prose": chinese,
};
console.log();
console.log("| what is written | bytes | tokens (o200k) | bytes for each | error |");
console.log("|---|---|---|---|---|");
for (const [name, text] of Object.entries(samples)) {
  // As it stands in JSON between its quotes, which is what the filter counts.
  const bytes = Buffer.byteLength(JSON.stringify(text)) - 2;
  const count = tokens(text);
  const each = (Math.round((bytes / count) * 100) / 100).toFixed(2);
  console.log(`| ${name} | ${bytes} | ${count} | ${each} | ${percent(bytes / BYTES_PER_TOKEN / count)} |`);
}
