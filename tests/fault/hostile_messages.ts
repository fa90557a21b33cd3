import fc from "fast-check";

/** Generators of what a server may send: nearly right more often than nonsense, since nonsense is refused at once. */

const json = fc.jsonValue({ maxDepth: 3 });

/** Requests of ours have the ids from 1 on; a server may name others, or what is no id. */
const id = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 6 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 6 }).map(String) },
  fc.constantFrom(null, 0, -1, 1.5, 2 ** 53, "", "01", "__proto__", true, {}, []),
  fc.string(),
);

const texts = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constantFrom("", "__proto__", "constructor"));

const tool = fc.record({
  name: fc.oneof(texts, json),
  inputSchema: fc.oneof(fc.constant({ type: "object" }), json),
}, {
  requiredKeys: [],
});
const block = fc.oneof(
  fc.record({ type: fc.constant("text"), text: texts }),
  fc.record({
    type: fc.oneof(fc.constantFrom("image", "resource", "resource_link", "x"), json),
    data: json,
  }),
  json,
);

const question = fc.constantFrom(
  "ping",
  "roots/list",
  "sampling/createMessage",
  "elicitation/create",
  "x",
  "__proto__",
);
const choices = fc.array(texts, { minLength: 1, maxLength: 3 });
const plainField = fc.record({
  type: fc.constantFrom("string", "number", "integer", "boolean"),
  default: fc.oneof(texts, fc.double(), fc.boolean(), json),
  enum: choices,
  minLength: fc.oneof(fc.nat(5), json),
  minimum: fc.oneof(fc.integer(), json),
}, { requiredKeys: ["type"] });
const listField = fc.record({
  type: fc.constant("array"),
  items: fc.record({ enum: choices }),
  default: fc.oneof(choices, json),
  minItems: fc.nat(3),
}, { requiredKeys: ["type", "items"] });
const fieldOfForm = fc.oneof(
  { weight: 8, arbitrary: plainField },
  { weight: 4, arbitrary: listField },
  json,
);
const schemaOfForm = fc.record({
  type: fc.constant("object"),
  properties: fc.oneof({ weight: 8, arbitrary: fc.dictionary(texts, fieldOfForm, { maxKeys: 3 }) }, json),
  required: fc.oneof(json, fc.array(texts)),
}, { requiredKeys: ["type", "properties"] });
const asked = fc.oneof(
  json,
  { weight: 3, arbitrary: fc.record({ message: texts, requestedSchema: schemaOfForm }) },
  fc.record({ message: texts, mode: fc.constantFrom("form", "url", 5, "x"), url: fc.oneof(texts, fc.webUrl()) }),
  fc.record({
    messages: fc.oneof(json, fc.array(fc.record({ role: texts, content: fc.oneof(block, fc.array(block)) }))),
    maxTokens: fc.oneof(fc.integer(), json),
    tools: json,
  }, { requiredKeys: ["messages", "maxTokens"] }),
);

/** What a server may ask, by method and parameters. */
export const hostileAsk: fc.Arbitrary<{ readonly method: string; readonly params: unknown }> = fc.record({
  method: fc.oneof({ weight: 6, arbitrary: question }, texts),
  params: asked,
});
const inputRequests = fc.dictionary(texts, hostileAsk, {
  maxKeys: 3,
});

/** Results of every method, and of none. */
export const hostileResult: fc.Arbitrary<unknown> = fc.oneof(
  json,
  fc.record({
    content: fc.oneof(fc.array(block), json),
    isError: fc.oneof(fc.boolean(), json),
    structuredContent: json,
  }, {
    requiredKeys: [],
  }),
  fc.record({
    tools: fc.oneof(fc.array(fc.oneof(tool, json)), json),
    nextCursor: fc.oneof(texts, json),
  }, {
    requiredKeys: [],
  }),
  fc.record({
    protocolVersion: fc.oneof(
      fc.constantFrom("2025-11-25", "2025-03-26", "2024-11-05", "2026-07-28", "2099-01-01"),
      json,
    ),
    capabilities: json,
    serverInfo: json,
    instructions: json,
  }, { requiredKeys: [] }),
  fc.record({
    resultType: fc.constantFrom("complete", "input_required", "task", "x", 5, null),
    supportedVersions: fc.oneof(fc.array(fc.constantFrom("2026-07-28", "2025-11-25", "x", 5)), json),
    capabilities: json,
    inputRequests: fc.oneof(json, inputRequests),
    requestState: fc.oneof(texts, json),
    _meta: json,
  }, { requiredKeys: [] }),
);

const code = fc.oneof(fc.constantFrom(-32601, -32602, -32603, -32700, -32020, -32021, -32022, -32042, -1), json);
const hostileError = fc.oneof(
  fc.record({
    code,
    message: fc.oneof(texts, json),
    data: fc.oneof(json, fc.record({ supported: json })),
  }, {
    requiredKeys: [],
  }),
  json,
);

/** An error as the answer to a first contact, past the checks of its envelope. */
export const probeError: fc.Arbitrary<{ readonly code: number; readonly data: unknown }> = fc.record({
  code: fc.constantFrom(-32601, -32602, -32000, -32020, -32021, -32022),
  data: fc.oneof(json, fc.record({ supported: fc.oneof(json, fc.array(fc.oneof(json, fc.constant("2025-11-25")))) })),
});

const notified = fc.constantFrom(
  "notifications/progress",
  "notifications/cancelled",
  "notifications/message",
  "notifications/tools/list_changed",
  "notifications/subscriptions/acknowledged",
  "x",
  "__proto__",
  "",
);
const notice = fc.oneof(
  json,
  fc.record({
    progressToken: id,
    progress: fc.oneof(fc.double(), json),
    total: json,
    message: json,
  }, {
    requiredKeys: [],
  }),
  fc.record({ requestId: id, reason: json }, { requiredKeys: [] }),
);
const jsonrpc = fc.oneof({ weight: 9, arbitrary: fc.constant("2.0") }, json);

/** One message, as a value. */
export const hostileMessage: fc.Arbitrary<unknown> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ jsonrpc, id, result: hostileResult }, {
      requiredKeys: ["jsonrpc"],
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ jsonrpc, id, error: hostileError }, {
      requiredKeys: ["jsonrpc"],
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      jsonrpc,
      method: fc.oneof(notified, json),
      params: notice,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      jsonrpc,
      id,
      method: fc.oneof(question, json),
      params: asked,
    }),
  },
  fc.record({
    jsonrpc,
    id,
    method: question,
    result: json,
    error: hostileError,
  }),
  json,
);

const batch = fc.array(fc.oneof({ weight: 3, arbitrary: hostileMessage }, json), { maxLength: 4 });
const written = fc.oneof({ weight: 3, arbitrary: hostileMessage }, batch).map((value) => JSON.stringify(value));

/** One message as text, cut short or with something put into it now and then. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 5, arbitrary: written },
  fc.tuple(written, fc.nat(), texts).map(([text, at, put]) => {
    const place = at % (text.length + 1);
    return text.slice(0, place) + put + text.slice(place);
  }),
  fc.tuple(written, fc.nat()).map(([text, at]) => text.slice(0, at % (text.length + 1))),
  fc.tuple(
    fc.constantFrom("[", "{", '{"a":'),
    fc.integer({ min: 1, max: 3000 }),
  ).map(([open, times]) => open.repeat(times)),
  texts,
);

/** Bytes in order, cut at random places: inside characters, line ends and fields too. */
export function cutAnywhere(bytes: fc.Arbitrary<Uint8Array>): fc.Arbitrary<readonly Uint8Array[]> {
  return fc.tuple(bytes, fc.array(fc.nat(), { maxLength: 8 })).map(
    ([whole, places]) => {
      const cuts = [...new Set(places.map((place) => place % (whole.length + 1)))].sort((a, b) => a - b);
      return [...cuts, whole.length].map((to, index) => whole.slice(index === 0 ? 0 : cuts[index - 1], to));
    },
  );
}

const encoder = new TextEncoder();
const lineEnd = fc.constantFrom("\n", "\n", "\r\n", "\n\n", "\r", "");
const rawBytes = fc.uint8Array({ maxLength: 40 });

function joined(parts: readonly (string | Uint8Array)[]): Uint8Array {
  const chunks = parts.map((part) => typeof part === "string" ? encoder.encode(part) : part);
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** What a pipe may carry: messages as lines, and noise. */
export const hostileLines: fc.Arbitrary<Uint8Array> = fc
  .array(
    fc.oneof({ weight: 6, arbitrary: fc.tuple(hostileText, lineEnd) }, fc.tuple(rawBytes, lineEnd)),
    {
      maxLength: 6,
    },
  )
  .map((lines) => joined(lines.flat()));

const field = fc.oneof(
  { weight: 4, arbitrary: hostileText.map((text) => `data: ${text}`) },
  fc.tuple(fc.constantFrom("data", "data:", "event:", "event: message", "id: ", "retry: ", ":", "x: "), texts)
    .map(([name, value]) => name + value),
);

/** Lines about as long as a small limit, ended in every way, with characters of more than one byte at the ends. */
export const shortLines: fc.Arbitrary<Uint8Array> = fc
  .array(fc.tuple(fc.constantFrom("", "data:", "é"), fc.nat(62).map((length) => "a".repeat(length)), lineEnd), {
    maxLength: 4,
  })
  .map((lines) => joined(lines.flat()));

/** What an event stream may carry. */
export const hostileEvents: fc.Arbitrary<Uint8Array> = fc
  .array(fc.tuple(fc.oneof({ weight: 6, arbitrary: field }, rawBytes), lineEnd), { maxLength: 10 })
  .map((lines) => joined(lines.flat()));
