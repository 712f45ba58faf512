// The official Node SDK of OpenAI against a daemon: `node daemon.mjs URL MODE`, as daemon.py does it. This SDK passes
// members on that it does not know.
import assert from "node:assert/strict";
import OpenAI from "openai";

const [url, mode] = process.argv.slice(2);
const scenario = "node_sdk";
const client = new OpenAI({ apiKey: "not-a-real-key", baseURL: `${url}/v1` });

const body = (index) => (index % 2 ? {} : { vcr: mode, vcr_scenario: scenario });
const options = (index) =>
  index % 2 ? { headers: { "x-vcr-mode": mode, "x-vcr-scenario": scenario } } : {};

async function ask(index) {
  const messages = [{ role: "user", content: `number ${index}` }];
  if (index === 7) {
    const request = { model: "e", input: "seven", encoding_format: "float", ...body(index) };
    return client.embeddings.create(request, options(index));
  }
  if (index % 4 < 2)
    return client.chat.completions.create({ model: "m", messages, ...body(index) }, options(index));
  const request = { model: "m", messages, stream: true, ...body(index) };
  let text = "";
  for await (const chunk of await client.chat.completions.create(request, options(index)))
    text += chunk.choices[0].delta.content ?? "";
  assert.equal(text, `You said number ${index} `);
  return text;
}

async function finish() {
  const answer = await fetch(`${url}/__vcr/finish`, { method: "POST" });
  return [answer.status, await answer.json()];
}

const results = await Promise.all(Array.from({ length: 8 }, (_, index) => ask(index)));
let [status, told] = await finish();
assert.equal(status, 200, JSON.stringify(told));
assert.equal(told.finished.length, 1);
assert.equal(told.finished[0][mode === "replay" ? "replayed" : "recorded"], 8);

if (mode === "replay") {
  // Nothing answers this, and the SDK does not try again although it does so after other conflicts.
  const unknown = { model: "m", messages: [{ role: "user", content: "?" }], vcr: mode, vcr_scenario: scenario };
  await assert.rejects(client.chat.completions.create(unknown), (error) => {
    assert.ok(error instanceof OpenAI.ConflictError);
    assert.equal(error.code, "vcr_replay_miss");
    return true;
  });
  [status, told] = await finish();
  assert.equal(status, 409);
  assert.ok(!told.error.message.includes("more had no answer"), told.error.message);
}
process.stdout.write(JSON.stringify(results));
