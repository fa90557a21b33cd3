import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { headAndTail, sizeOf } from "../../../src/call/excerpt.ts";
import { type OutputOptions, readOutput } from "../../../src/call/output.ts";
import { HostError } from "../../../src/kernel/errors.ts";
import { memoryArtifacts } from "../../../src/store/memory_artifacts.ts";
import { plainScrubber } from "../../fixtures/plain_scrubber.ts";
import { text } from "../../fixtures/fake_client.ts";

function options(more: Partial<OutputOptions> = {}): OutputOptions {
  return {
    scrubber: plainScrubber("hunter2hunter2"),
    previewBytes: 4096,
    maxOutputBytes: 65_536,
    onError: () => {},
    ...more,
  };
}

const bytes = (value: string): number => new TextEncoder().encode(value).length;

describe("output", () => {
  it("of a short result is whole, at once, and stores nothing", () => {
    const artifacts = memoryArtifacts();
    const output = readOutput(text("hi é"), options({ artifacts }));
    expect(output).toEqual({
      content: [{ type: "text", text: "hi é" }],
      isError: false,
      output: "hi é",
      preview: "hi é",
      isPreviewCut: false,
      resultSize: 5,
      truncated: false,
      findings: [],
    });
  });

  it("joins text blocks and puts labels for all others, whatever they are called", async () => {
    const output = await readOutput({
      content: [
        { type: "text", text: "a" },
        { type: "image", mimeType: "image/png", data: "AAAA" },
        { type: "audio", mimeType: "audio/wav", data: "AAA=" },
        { type: "resource_link", uri: "file:///x", name: "x" },
        { type: "resource", resource: { uri: "file:///y", mimeType: "application/pdf", blob: "AA==" } },
        { type: "hologram\n]", data: 3 },
        { type: "text", text: 3 },
        { type: "text", text: "b" },
      ],
    }, options());
    expect(output.output).toBe(
      "a\n[image image/png 3 bytes]\n[audio audio/wav 2 bytes]\n[resource_link file:///x]\n[resource file:///y application/pdf 1 bytes]\n[hologram  ]\n\nb",
    );
    expect(output.content).toHaveLength(8);
  });

  it("FR-53 of structured content alone is its JSON, and content that is missing is empty", async () => {
    expect(await readOutput({ structuredContent: { a: 1 } }, options())).toMatchObject({
      output: '{"a":1}',
      structuredContent: { a: 1 },
      content: [],
    });
    expect(await readOutput({ content: [], structuredContent: null }, options())).toMatchObject({
      output: "null",
      structuredContent: null,
    });
  });

  it.each([[{}], [{ content: "text" }], [{ content: [3] }], [{ content: [{ text: "x" }] }], [{
    content: [],
    isError: "yes",
  }]])("A-38 refuses %j", (result) => {
    expect(() => readOutput(result, options())).toThrow(HostError);
  });

  it("scrubs before it cuts, everywhere", async () => {
    const artifacts = memoryArtifacts();
    const long = `${"x".repeat(3000)}hunter2hunter2${"y".repeat(90_000)}`;
    const output = await readOutput({
      content: [{ type: "text", text: long }],
      structuredContent: { key: "hunter2hunter2" },
    }, options({ artifacts }));
    const kept = new TextDecoder().decode(await artifacts.read(output.artifact!.sha256));
    expect(kept).toContain("x[redacted]y");
    expect(JSON.stringify(output) + kept).not.toMatch(/hunter2|hunter/);
  });

  it("of a long result is head and tail, with the whole in an artifact", async () => {
    const artifacts = memoryArtifacts();
    const long = `BEGIN${"é".repeat(100_000)}END`;
    const output = await readOutput(text(long), options({ artifacts }));
    expect(output).toMatchObject({
      truncated: true,
      isPreviewCut: true,
      resultSize: 200_008,
      artifact: { bytes: 200_008, mediaType: "text/plain" },
    });
    for (const cut of [output.preview, output.output]) {
      expect(cut.startsWith("BEGIN")).toBe(true);
      expect(cut.endsWith("END")).toBe(true);
      expect(cut).not.toContain("\ufffd");
    }
    expect(bytes(output.preview)).toBeLessThanOrEqual(4096);
    expect(bytes(output.output)).toBeLessThanOrEqual(65_536);
    expect(output.output).toContain(output.artifact!.sha256);
  });

  it("a little over the preview is whole for the caller", async () => {
    const output = await readOutput(text("x".repeat(5000)), options({ artifacts: memoryArtifacts() }));
    expect(output).toMatchObject({
      truncated: false,
      isPreviewCut: true,
      output: "x".repeat(5000),
      artifact: { bytes: 5000 },
    });
  });

  it("is shown without its artifact when the store is full, and says why to whom it concerns", async () => {
    const errors: unknown[] = [];
    const artifacts = memoryArtifacts({ maxTotalBytes: 100 });
    const output = await readOutput(
      text("x".repeat(100_000)),
      options({ artifacts, onError: (error) => void errors.push(error) }),
    );
    expect(output.artifact).toBeUndefined();
    expect(output.truncated).toBe(true);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({ code: "ERR_TOO_LARGE" });
  });
});

describe("excerpt", () => {
  it("counts UTF-8 bytes like the encoder, lone surrogates too", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (value) => sizeOf(value).bytes === bytes(value)),
    );
    for (const value of ["", "\ud800", "\udc00", "\ud800\udc00", "\udc00\ud800", "a\ud83d", "é\u07ff\u0800"]) {
      expect(sizeOf(value).bytes).toBe(bytes(value));
    }
  });

  it("never passes its limit and never cuts a character", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", minLength: 50, maxLength: 400 }),
        fc.integer({ min: 60, max: 200 }),
        (drawn, limit) => {
          // What a cut character becomes must not be there from the start.
          const value = drawn.replaceAll("\ufffd", "?");
          const cut = headAndTail(sizeOf(value), limit);
          return bytes(cut) <= limit && !cut.includes("\ufffd");
        },
      ),
    );
  });
});
