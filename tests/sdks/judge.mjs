// What the official Node SDKs make of an answer: `node judge.mjs CASES OUT`, as judge.py does it.
import { readFileSync, writeFileSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";
import { MessageStream } from "@anthropic-ai/sdk/lib/MessageStream";
import { GoogleGenAI } from "@google/genai";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { ChatCompletionStream } from "openai/lib/ChatCompletionStream";

const KEY = "not-a-real-key";

/** The typed result as JSON; what an SDK keeps of the transport is no part of the answer. */
const dump = (value) =>
  JSON.parse(JSON.stringify(value, (name, member) => (name === "sdkHttpResponse" ? undefined : member)));

/** A stream of the SDK's own kind, to be read by the SDK's own accumulator. */
const again = (values) => new Blob(values.map((value) => `${JSON.stringify(value)}\n`)).stream();

async function listen(heard, answer, streamed, collect) {
  if (!streamed) {
    heard.whole = dump(answer);
    return;
  }
  try {
    for await (const value of answer) heard.values.push(dump(value));
  } finally {
    try {
      heard.whole = dump((await collect(heard.values)) ?? null);
    } catch (error) {
      // An accumulator that gives up has to give up over each layer.
      heard.whole = { accumulator: `${error.constructor.name}: ${error.message}` };
    }
  }
}

const query = ({ query }) => Object.fromEntries(new URLSearchParams(query));
const openai = (base, one) =>
  new OpenAI({ apiKey: KEY, baseURL: base, maxRetries: 0, defaultQuery: query(one) });

const SDKS = {
  async chat(base, one, heard) {
    const answer = await openai(base, one).chat.completions.create(one.request);
    await listen(heard, answer, one.request.stream === true, (chunks) =>
      ChatCompletionStream.fromReadableStream(again(chunks)).finalChatCompletion(),
    );
  },
  async responses(base, one, heard) {
    const answer = await openai(base, one).responses.create(one.request);
    await listen(heard, answer, one.request.stream === true, (events) => events.findLast((e) => e.response)?.response);
  },
  async embeddings(base, one, heard) {
    const { encoding_format, ...body } = one.request;
    // Asked for nothing, the SDK asks for base64 and decodes it.
    if (encoding_format !== "base64") body.encoding_format = encoding_format;
    await listen(heard, await openai(base, one).embeddings.create(body), false);
  },
  async anthropic(base, one, heard) {
    const client = new Anthropic({ apiKey: KEY, baseURL: base, maxRetries: 0 });
    const answer = await client.messages.create(one.request);
    await listen(heard, answer, one.request.stream === true, (events) =>
      MessageStream.fromReadableStream(again(events.filter((event) => event.type !== "ping"))).finalMessage(),
    );
  },
  async gemini(base, one, heard) {
    const client = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: base } });
    const [model, method] = one.path.split("/").at(-1).split(":");
    const { contents, generationConfig, ...rest } = structuredClone(one.request);
    const config = { ...generationConfig };
    for (const [name, value] of Object.entries(rest)) if (value !== null) config[name] = value;
    if (config.tools) config.tools = [config.tools].flat();
    for (const tool of config.tools ?? [])
      for (const declaration of tool.functionDeclarations ?? []) {
        declaration.parametersJsonSchema ??= declaration.parameters_json_schema;
        delete declaration.parameters_json_schema;
      }
    const streamed = method === "streamGenerateContent";
    const ask = streamed ? "generateContentStream" : "generateContent";
    await listen(heard, await client.models[ask]({ model, contents, config }), streamed, () => null);
  },
  async ollama(base, one, heard) {
    const client = new Ollama({ host: base });
    const { stream = true, ...rest } = one.request;
    await listen(heard, await client.chat({ ...rest, stream }), stream, () => null);
  },
  async generate(base, one, heard) {
    await listen(heard, await new Ollama({ host: base }).generate(one.request), one.request.stream, () => null);
  },
};

/** The error as a caller can handle it: class, status and the provider's own words. */
const described = (error) => ({
  class: error.constructor.name,
  status: error.status ?? error.status_code ?? null,
  code: error.code ?? null,
  message: error.message,
  body: error.error ?? null,
});

async function ask(base, one) {
  const heard = { whole: null, values: [], error: null };
  try {
    await SDKS[one.sdk](base, one, heard);
  } catch (error) {
    heard.error = described(error);
  }
  return heard;
}

const results = {};
for (const one of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  results[one.name] = {};
  for (const layer of one.layers) results[one.name][layer] = await ask(one[layer][1], one);
}
writeFileSync(process.argv[3], JSON.stringify(results));
process.exit(0);
