// The official Node SDKs as clients of `althing serve`: the arguments are the folder they are
// installed in, the base URL without `/v1`, and the token; `chats` behind them says that the OpenAI
// server behind has only chats.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";

const [folder, url, token, only] = process.argv.slice(2);
const require = createRequire(join(folder, "package.json"));
const OpenAI = require("openai");
const Anthropic = require("@anthropic-ai/sdk");

const SAID = "Hello there.";
const MODELS = ["openai:fake-large", "anthropic:fake-large"];
const CITY = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const ask = [{ role: "user", content: "Hi" }];

const toOpenAI = (apiKey = token) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
const toAnthropic = (apiKey = token) => new Anthropic({ baseURL: url, apiKey, maxRetries: 0 });

async function chat(client, model) {
  const whole = await client.chat.completions.create({ model, messages: ask });
  assert.equal(whole.choices[0].message.content, SAID);
  let text = "";
  const stream = await client.chat.completions.create({ model, messages: ask, stream: true });
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
  assert.equal(text, SAID);
  const tools = [{ type: "function", function: { name: "weather", parameters: CITY } }];
  const runner = client.chat.completions.stream({ model, messages: ask, tools });
  const message = await runner.finalMessage();
  const call = message.tool_calls[0];
  assert.equal(call.function.arguments, '{"city":"sample"}');
  const result = { role: "tool", tool_call_id: call.id, content: "rain" };
  const messages = [...ask, message, result];
  const second = await client.chat.completions.create({ model, messages, tools });
  assert.equal(second.choices[0].message.content, SAID);
  console.log(`openai chat ${model}`);
}

async function responses(client, model) {
  const whole = await client.responses.create({ model, input: "Hi" });
  assert.equal(whole.output_text, SAID);
  const kinds = [];
  const stream = client.responses.stream({ model, input: "Hi" });
  for await (const event of stream) kinds.push(event.type);
  assert.equal((await stream.finalResponse()).output_text, SAID);
  assert.equal(kinds[0], "response.created");
  assert.equal(kinds.at(-1), "response.completed");
  const tools = [{ type: "function", name: "weather", parameters: CITY, strict: false }];
  const called = await client.responses.stream({ model, input: ask, tools }).finalResponse();
  const call = called.output.find((item) => item.type === "function_call");
  assert.equal(call.arguments, '{"city":"sample"}');
  console.log(`openai responses ${model}`);
}

async function completions(client, model) {
  const whole = await client.completions.create({ model, prompt: "Hi" });
  assert.equal(whole.choices[0].text, SAID);
  let text = "";
  const stream = await client.completions.create({ model, prompt: "Hi", stream: true });
  for await (const chunk of stream) text += chunk.choices[0].text;
  assert.equal(text, SAID);
  console.log(`openai completions ${model}`);
}

async function messages(client, model) {
  const rest = { model, max_tokens: 100 };
  const whole = await client.messages.create({ messages: ask, ...rest });
  assert.equal(whole.content[0].text, SAID);
  const stream = client.messages.stream({ messages: ask, ...rest });
  assert.equal(await stream.finalText(), SAID);
  const tools = [{ name: "weather", input_schema: CITY }];
  const first = await client.messages.stream({ messages: ask, tools, ...rest }).finalMessage();
  const call = first.content.find((block) => block.type === "tool_use");
  assert.deepEqual(call.input, { city: "sample" });
  const result = { type: "tool_result", tool_use_id: call.id, content: "rain" };
  const said = [{ role: "assistant", content: first.content }, { role: "user", content: [result] }];
  const second = await client.messages.create({ messages: [...ask, ...said], tools, ...rest });
  assert.equal(second.content[0].text, SAID);
  console.log(`anthropic messages ${model}`);
}

async function errors() {
  const openai = (model, messages = ask, key = token) =>
    toOpenAI(key).chat.completions.create({ model, messages });
  await assert.rejects(openai("anthropic:err-429"), OpenAI.RateLimitError);
  await assert.rejects(openai("openai:err-429"), OpenAI.RateLimitError);
  await assert.rejects(openai("nobody:nothing"), OpenAI.NotFoundError);
  await assert.rejects(openai(MODELS[1], []), OpenAI.BadRequestError);
  await assert.rejects(openai(MODELS[0], ask, "x"), OpenAI.AuthenticationError);
  const anthropic = (model, messages = ask, key = token) =>
    toAnthropic(key).messages.create({ model, messages, max_tokens: 9 });
  await assert.rejects(anthropic("anthropic:err-429"), Anthropic.RateLimitError);
  await assert.rejects(anthropic("openai:err-429"), Anthropic.RateLimitError);
  await assert.rejects(anthropic("nobody:nothing"), Anthropic.NotFoundError);
  await assert.rejects(anthropic(MODELS[0], []), Anthropic.BadRequestError);
  await assert.rejects(anthropic(MODELS[0], ask, "x"), Anthropic.AuthenticationError);
  console.log("errors");
}

async function atOnce(client, count) {
  const one = async (_, at) => {
    const runner = client.chat.completions.stream({ model: MODELS[at % 2], messages: ask });
    return runner.finalContent();
  };
  const said = await Promise.all(Array.from({ length: count }, one));
  assert.deepEqual(said, Array(count).fill(SAID));
  console.log(`${count} at once`);
}

async function leaves(client) {
  const stream = await client.chat.completions.create({
    model: "openai:stall",
    messages: ask,
    stream: true,
  });
  for await (const _ of stream) break;
  console.log("left");
}

if (only === "chats") {
  await responses(toOpenAI(), MODELS[0]);
  await completions(toOpenAI(), MODELS[0]);
  process.exit(0);
}
for (const model of MODELS) {
  await chat(toOpenAI(), model);
  await completions(toOpenAI(), model);
  await messages(toAnthropic(), model);
}
await responses(toOpenAI(), MODELS[1]);
await errors();
await atOnce(toOpenAI(), 50);
await leaves(toOpenAI());
