import { describe, expect, test } from "vitest";
import { type ErrorCode, HostError, RemoteError } from "../../../src/kernel/errors.ts";
import type { Settled } from "../../../src/jsonrpc/pending.ts";
import { classifyProbe } from "../../../src/protocol/classify_probe.ts";

const ok = (result: unknown): Settled => ({ ok: true, result, bytes: 1 });
const remote = (code: number, data?: unknown): Settled => ({
  ok: false,
  error: new RemoteError(code, "x", data),
  sent: true,
  refused: false,
});
const local = (code: ErrorCode, facts: object = {}): Settled => ({
  ok: false,
  error: new HostError(code, "x", { facts: { ...facts } }),
  sent: true,
  refused: false,
});
const discover = (...supportedVersions: unknown[]): Settled => ok({ supportedVersions, capabilities: {} });

const MODERN = "2026-07-28";
const LEGACY = "2025-06-18";

describe("first contact", () => {
  const rows: [claim: string, settled: Settled, found: object][] = [
    ["answer with our revision", discover(MODERN), {
      kind: "modern",
      protocolVersion: MODERN,
      introduction: { capabilities: {} },
    }],
    ["answer with ours among others", discover("2099-01-01", LEGACY, MODERN), {
      kind: "modern",
      protocolVersion: MODERN,
    }],
    ["answer with only older revisions", discover(LEGACY, "1999-01-01"), { kind: "legacy" }],
    ["answer with none of ours", discover("2099-01-01"), { kind: "no_common_version", supported: ["2099-01-01"] }],
    ["answer that is another result", ok({ tools: [] }), { kind: "legacy" }],
    ["answer that is an empty object", ok({}), { kind: "legacy" }],
    ["answer that is no object", ok(null), { kind: "legacy" }],
    ["answer without revisions", discover(), { kind: "legacy" }],
    ["answer with revisions that are no texts", discover(20260728), { kind: "legacy" }],

    ["-32022 with ours (C-VER-05)", remote(-32022, { supported: [MODERN], requested: "x" }), {
      kind: "ask_again",
      protocolVersion: MODERN,
    }],
    ["-32022 with only older ones", remote(-32022, { supported: [LEGACY] }), { kind: "legacy" }],
    ["-32022 with none of ours", remote(-32022, { supported: ["2099-01-01"] }), {
      kind: "no_common_version",
      supported: ["2099-01-01"],
    }],
    ["-32022 with no revisions at all", remote(-32022, { supported: [] }), {
      kind: "no_common_version",
      supported: [],
    }],
    ["-32022 without data: not the one of the specification", remote(-32022), { kind: "legacy" }],
    ["-32022 with a text as data", remote(-32022, "2026-07-28"), { kind: "legacy" }],
    ["-32022 with numbers as revisions", remote(-32022, { supported: [1] }), { kind: "legacy" }],
    ["-32020, which only modern servers send (C-VER-05)", remote(-32020), { kind: "no_evidence" }],
    ["-32021, which only modern servers send (C-VER-05)", remote(-32021), { kind: "no_evidence" }],
    ...[-32601, -32602, -32600, -32603, -32700, -32000, -32001, -32002, -32004, -1, 0, 404, 1].map(
      (
        code,
      ): [string, Settled, object] => [`error ${code}: any may be a legacy server's (C-VER-04)`, remote(code), {
        kind: "legacy",
      }],
    ),
    ["older error with supported revisions", remote(-32602, { supported: [MODERN] }), { kind: "legacy" }],

    ["silence (FR-12)", local("ERR_TIMEOUT", { total: false }), { kind: "legacy" }],
    ["time of the whole start over", local("ERR_TIMEOUT", { total: true }), { kind: "no_evidence" }],
    ["answer that cannot be used", local("ERR_PROTOCOL", { malformed: "envelope" }), { kind: "legacy" }],
    ["answer over the limit", local("ERR_FRAME_TOO_LARGE"), { kind: "legacy" }],
    ...[400, 404, 405, 406, 409, 415, 422, 429, 500, 501, 503].map(
      (
        status,
      ): [string, Settled, object] => [`status ${status} (FR-33)`, local("ERR_PROTOCOL", { status }), {
        kind: "legacy",
      }],
    ),
    ...[301, 302, 303, 307, 308].map(
      (
        status,
      ): [string, Settled, object] => [`redirect ${status} that is not followed`, local("ERR_PROTOCOL", { status }), {
        kind: "no_evidence",
      }],
    ),
    ["200 with a web page", local("ERR_PROTOCOL", { status: 200, contentType: "text/html" }), { kind: "legacy" }],
    ["stream that ends without an answer", local("ERR_CONNECTION_LOST"), { kind: "legacy" }],
    ["network that fails (FR-21, C-VER-10)", local("ERR_CONNECTION_LOST", { cause: "ECONNREFUSED" }), {
      kind: "no_evidence",
    }],
    ["credentials that are missing (FR-33, C-VER-10)", local("ERR_AUTH_REQUIRED", { status: 401 }), {
      kind: "no_evidence",
    }],
    ["credentials that cannot be had", local("ERR_AUTH_FAILED"), { kind: "no_evidence" }],
    ["cancel by the server", local("ERR_CANCELLED", { by: "server" }), { kind: "legacy" }],
    ["cancel by the caller", local("ERR_CANCELLED"), { kind: "no_evidence" }],
    ["too large to send", local("ERR_TOO_LARGE"), { kind: "no_evidence" }],
  ];
  test.each(rows)("%s", (_claim, settled, found) => {
    expect(classifyProbe(settled, true)).toMatchObject(found);
  });

  test("end of the connection is told as that, unless an answer came first", () => {
    for (const code of ["ERR_CONNECTION_LOST", "ERR_PROTOCOL", "ERR_FRAME_TOO_LARGE", "ERR_CLOSED"] as const) {
      expect(classifyProbe(local(code), false)).toMatchObject({ kind: "gone" });
    }
    expect(classifyProbe(discover(MODERN), false)).toMatchObject({ kind: "modern" });
    expect(classifyProbe(remote(-32601), false)).toMatchObject({ kind: "legacy" });
  });
});
