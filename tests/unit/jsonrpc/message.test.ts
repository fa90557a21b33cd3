import { describe, expect, test } from "vitest";
import { DEFAULT_PARSE_LIMITS } from "../../../src/jsonrpc/bounded_parse.ts";
import { type ParsedMessage, readMessage } from "../../../src/jsonrpc/message.ts";

const read = (text: string): ParsedMessage => readMessage(text, DEFAULT_PARSE_LIMITS);
const rpc = (members: string): ParsedMessage => read(`{"jsonrpc":"2.0"${members === "" ? "" : `,${members}`}}`);

describe("ids of answers (A-17, A-33)", () => {
  const rows: [json: string, id: number | string | undefined][] = [
    ["1", 1],
    ["0", 0],
    ["-1", -1],
    ["9007199254740991", 9007199254740991],
    ["0.1e1", 1],
    ['"1"', "1"],
    ['""', ""],
    [`"${"x".repeat(256)}"`, "x".repeat(256)],
    [`"${"x".repeat(257)}"`, undefined],
    ["1.5", undefined],
    ["9007199254740992", undefined],
    ["9007199254740993", undefined],
    ["1e400", undefined],
    ["-1e400", undefined],
    ["null", undefined],
    ["true", undefined],
    ["[1]", undefined],
    ['{"id":1}', undefined],
  ];
  test.each(rows)("%s", (json, id) => {
    expect(rpc(`"id":${json},"result":{}`)).toEqual(
      id === undefined ? { kind: "malformed", reason: "id" } : { kind: "result", id, result: {} },
    );
  });
  test("missing", () => {
    expect(rpc('"result":{}')).toEqual({ kind: "malformed", reason: "id" });
  });
  test.each(["null", undefined])("of an error may be %s", (json) => {
    const id = json === undefined ? "" : `"id":${json},`;
    expect(rpc(`${id}"error":{"code":-32700,"message":"x"}`)).toEqual({
      kind: "error",
      id: undefined,
      error: { code: -32700, message: "x" },
    });
  });
  test.each(["1.5", "[]", "{}", "true", "9007199254740993"])("of an error may not be %s", (json) => {
    expect(rpc(`"id":${json},"error":{"code":1,"message":""}`)).toEqual({ kind: "malformed", reason: "id" });
  });
  test.each(["1.5", "null", "[]", "true"])("of a request may not be %s", (json) => {
    expect(rpc(`"id":${json},"method":"ping"`)).toEqual({ kind: "malformed", reason: "id" });
  });
});

describe("envelopes", () => {
  const rows: [claim: string, members: string, found: object][] = [
    ["request", '"id":"a","method":"ping","params":[1]', { kind: "request", id: "a", method: "ping", params: [1] }],
    ["request under an id of ours", '"id":1,"method":"ping"', { kind: "request", id: 1, method: "ping" }],
    ["request with a result beside it", '"id":1,"method":"ping","result":{}', {
      kind: "request",
      id: 1,
      method: "ping",
    }],
    ["notification", '"method":"n","params":{"a":1}', { kind: "notification", method: "n", params: { a: 1 } }],
    ["notification with an empty method", '"method":""', { kind: "notification", method: "" }],
    ["method in capitals, which is none (A-32)", '"Method":"ping"', { kind: "malformed", reason: "envelope" }],
    ["method twice: the later one (A-32)", '"method":"a","method":"b"', { kind: "notification", method: "b" }],
    ["method that is no text", '"id":1,"method":5', { kind: "malformed", reason: "envelope" }],
    ["method null", '"id":1,"method":null,"result":{}', { kind: "malformed", reason: "envelope" }],
    ["result of any kind", '"id":1,"result":null', { kind: "result", id: 1, result: null }],
    ["result with error null", '"id":1,"result":{},"error":null', { kind: "result", id: 1, result: {} }],
    ["result and error", '"id":1,"result":{},"error":{"code":1,"message":""}', {
      kind: "malformed",
      reason: "envelope",
      id: 1,
    }],
    ["neither", '"id":"a"', { kind: "malformed", reason: "envelope", id: "a" }],
    ["nothing at all", "", { kind: "malformed", reason: "envelope" }],
    ["error with data", '"id":1,"error":{"code":-1,"message":"m","data":null}', {
      kind: "error",
      id: 1,
      error: { code: -1, message: "m", data: null },
    }],
    ["error without a message", '"id":1,"error":{"code":-1}', {
      kind: "error",
      id: 1,
      error: { code: -1, message: "" },
    }],
    ["error without a code", '"id":1,"error":{"message":"m"}', { kind: "malformed", reason: "envelope", id: 1 }],
    ["error with a text as code", '"id":1,"error":{"code":"-1","message":"m"}', {
      kind: "malformed",
      reason: "envelope",
      id: 1,
    }],
    ["error with a fraction as code", '"id":1,"error":{"code":1.5,"message":"m"}', {
      kind: "malformed",
      reason: "envelope",
      id: 1,
    }],
    ["error with an endless code", '"id":1,"error":{"code":1e400,"message":"m"}', {
      kind: "malformed",
      reason: "envelope",
      id: 1,
    }],
    ["error that is a text", '"id":1,"error":"boom"', { kind: "malformed", reason: "envelope", id: 1 }],
    ["error that is an array", '"id":1,"error":[]', { kind: "malformed", reason: "envelope", id: 1 }],
    ["error null alone", '"id":1,"error":null', { kind: "malformed", reason: "envelope", id: 1 }],
  ];
  test.each(rows)("%s", (_claim, members, found) => {
    expect(rpc(members)).toEqual(found);
  });

  test("unknown members are left alone", () => {
    expect(rpc('"id":1,"result":{"x":1},"extra":true')).toEqual({ kind: "result", id: 1, result: { x: 1 } });
  });
});

describe("texts that are no message (FR-01)", () => {
  const noise: [text: string, reason: string][] = [
    ["Docs server ready", "not_json"],
    ["", "not_json"],
    ["  ", "not_json"],
    ['{"jsonrpc":', "not_json"],
    ["\u001b[32mok\u001b[0m", "not_json"],
    ["42", "not_rpc"],
    ['"x"', "not_rpc"],
    ["null", "not_rpc"],
    ["true", "not_rpc"],
    ["[]", "not_rpc"],
    ["{}", "not_rpc"],
    ['{"level":"info"}', "not_rpc"],
    ['{"jsonrpc":"1.0","id":1,"result":{}}', "not_rpc"],
    ['{"jsonrpc":2.0,"id":1,"result":{}}', "not_rpc"],
    ['{"id":1,"result":{}}', "not_rpc"],
  ];
  test.each(noise)("%j", (text, reason) => {
    expect(read(text)).toEqual({ kind: "malformed", reason });
  });

  test("array with members is a batch, of whatever they are", () => {
    expect(read('[1,{"jsonrpc":"2.0","method":"n"}]')).toEqual({
      kind: "batch",
      members: [1, { jsonrpc: "2.0", method: "n" }],
    });
  });

  test("bounds come before the envelope", () => {
    expect(read(`{"jsonrpc":"2.0","id":1,"result":${"[".repeat(70)}${"]".repeat(70)}}`)).toEqual({
      kind: "malformed",
      reason: "too_deep",
      id: 1,
    });
  });

  test.each([
    ["an answer, with whose it is", `{"jsonrpc":"2.0","id":7,"result":DEEP}`, { reason: "too_deep", id: 7 }],
    ["an error, with whose it is", `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"","data":DEEP}}`, {
      reason: "too_deep",
      id: 7,
    }],
    ["a notification, as nobody's answer", `{"jsonrpc":"2.0","method":"x","params":DEEP}`, { reason: "envelope" }],
    ["a question, as nobody's answer", `{"jsonrpc":"2.0","id":7,"method":"x","params":DEEP}`, { reason: "envelope" }],
    ["a list", "DEEP", { reason: "too_deep" }],
  ])("nested too deeply is malformed: %s (A-29)", (_claim, text, wanted) => {
    for (const depth of [64, 5_000]) {
      const deep = `${"[".repeat(depth)}${"]".repeat(depth)}`;
      const found = readMessage(
        text.replace("DEEP", depth === 64 && text === "DEEP" ? `[${deep}]` : deep),
        DEFAULT_PARSE_LIMITS,
      );
      expect(found).toEqual({ kind: "malformed", ...wanted });
    }
  });
});
