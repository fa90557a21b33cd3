import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Output, type OutputOptions, readOutput } from "../../../src/call/output.ts";
import { spillStore } from "../../../src/call/spill_store.ts";
import { SpillParser } from "../../../src/jsonrpc/spill.ts";
import type { Spill } from "../../../src/jsonrpc/spill_sink.ts";
import { HostError } from "../../../src/kernel/errors.ts";
import { SecretRegistry } from "../../../src/kernel/secrets.ts";
import { createScrubber } from "../../../src/scrub/known_values.ts";
import type { Scrubber } from "../../../src/scrub/scrubber.ts";
import type { ArtifactStore } from "../../../src/store/artifacts.ts";
import { memoryArtifacts } from "../../../src/store/memory_artifacts.ts";

const secrets = new SecretRegistry();
secrets.add("key", "hunter2-hunter2");
const scrubber = createScrubber(secrets);

interface Read {
  readonly output: Output;
  readonly errors: unknown[];
  textOf(sha256: string | undefined): Promise<string>;
}

/** Sends a result over the wire, in chunks, and reads what comes out. */
async function read(
  result: unknown,
  more: { readonly artifacts?: ArtifactStore; readonly scrubber?: Scrubber; readonly chunk?: number } = {},
): Promise<Read> {
  const artifacts = more.artifacts ?? memoryArtifacts();
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const options: OutputOptions = { scrubber, artifacts, previewBytes: 4096, maxOutputBytes: 100_000, onError };
  const parser = new SpillParser({ sink: spillStore({ artifacts, scrubber: more.scrubber ?? scrubber, onError }) });
  const bytes = new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", id: 1, result }));
  const chunk = more.chunk ?? 65_536;
  for (let at = 0; at < bytes.length; at += chunk) await parser.push(bytes.slice(at, at + chunk));
  const parse = await parser.end();
  if (!parse.ok) throw parse.error ?? new Error(parse.reason);
  const { value, spills } = parse as { value: { result: Record<string, unknown> }; spills: readonly Spill[] };
  const output = await readOutput(value.result, options, undefined, spills);
  return {
    output,
    errors,
    textOf: async (sha256) => new TextDecoder().decode((await artifacts.read(sha256!)) ?? new Uint8Array()),
  };
}

const long = (bytes: number, unit = "0123456789"): string =>
  unit.repeat(Math.ceil(bytes / unit.length)).slice(0, bytes);
const text = (value: string): object => ({ type: "text", text: value });

describe("output of a result whose long strings were put aside", () => {
  it("has head and tail of the only text, and all of it as the artifact", async () => {
    const whole = long(300_000);
    const { output, textOf } = await read({ content: [text(whole)], isError: true });
    expect(await textOf(output.artifact?.sha256)).toBe(whole);
    expect(output).toMatchObject({ isError: true, truncated: true, isPreviewCut: true, resultSize: 300_000 });
    expect(output.artifacts).toEqual([output.artifact]);
    expect(new TextEncoder().encode(output.output).length).toBeLessThanOrEqual(100_000);
    const left = /\[\.\.\. (\d+) bytes left out, whole text in artifact ([0-9a-f]{64}) \.\.\.\]/.exec(output.output)!;
    expect(left[2]).toBe(output.artifact!.sha256);
    const [head, tail] = output.output.split(`\n${left[0]}\n`);
    expect([whole.startsWith(head!), whole.endsWith(tail!)]).toEqual([true, true]);
    expect(head!.length + tail!.length + Number(left[1])).toBe(300_000);
    expect(output.preview.length).toBeLessThanOrEqual(4096);
  });

  it("names the artifact of each text among other blocks, and counts all their bytes", async () => {
    const [first, second] = [long(200_000, "first "), long(150_000, "second ")];
    const { output, textOf } = await read({ content: [text("short"), text(first), text(second)] });
    expect(output.artifacts).toHaveLength(3);
    expect(await textOf(output.artifacts![0]!.sha256)).toBe(first);
    expect(await textOf(output.artifacts![1]!.sha256)).toBe(second);
    expect(output.artifact).toEqual(output.artifacts![2]);
    expect(output.resultSize).toBe("short\n".length + 200_000 + 1 + 150_000);
    expect(output.truncated).toBe(true);
    expect(await textOf(output.artifact!.sha256)).toContain(output.artifacts![1]!.sha256);
  });

  it("gives images back whole, and a label for data that is too large", async () => {
    const data = long(400_000, "QUJD");
    const image = { type: "image", mimeType: "image/png", data };
    const blob = { type: "resource", resource: { uri: "file:///y", blob: data } };
    const { output } = await read({ content: [image, blob, text("see above")] });
    expect(output.content).toEqual([image, blob, text("see above")]);
    expect(output.output).toBe("[image image/png 300000 bytes]\n[resource file:///y 300000 bytes]\nsee above");
    expect([output.truncated, output.resultSize]).toEqual([false, output.output.length]);
    const huge = { ...image, data: long(9 << 20, "QUJD") };
    const { output: other, textOf } = await read({ content: [huge] });
    const label = `[image image/png ${9 * 0.75 * (1 << 20)} bytes, in base64 in artifact ${
      other.artifacts![0]!.sha256
    }]`;
    expect(other).toMatchObject({ output: label, content: [text(label)] });
    expect(await textOf(other.artifacts![0]!.sha256) === huge.data).toBe(true);
  });

  it("has head and tail of a text within structured content", async () => {
    const whole = long(200_000);
    const { output } = await read({ content: [text("ok")], structuredContent: { "a/b": [{ "c~d": whole }] } });
    const inner = (output.structuredContent as { "a/b": [{ "c~d": string }] })["a/b"][0]["c~d"];
    expect(inner.startsWith(whole.slice(0, 60_000))).toBe(true);
    expect(inner).toContain(output.artifacts![0]!.sha256);
    expect(output).toMatchObject({ output: "ok", truncated: false });
    expect(output.artifact).toBe(undefined);
  });

  it("is the beginning and the end of all of it as JSON, where it left as a whole", async () => {
    const before = long(100_000, "before ");
    const rows = Array.from({ length: 200_000 }, (_, at) => ["hunter2-hunter2", `row number ${at} of many, \u00e9 \n`]);
    const { output, errors, textOf } = await read({
      content: [text(before)],
      structuredContent: { rows },
      isError: true,
    });
    expect(errors).toEqual([]);
    const kept = await textOf(output.artifact?.sha256);
    const note = "[... 100000 bytes left out, kept apart as long text 1 ...]";
    const whole = { content: [text(note)], structuredContent: { rows }, isError: true };
    expect(kept === JSON.stringify(whole).replaceAll("hunter2-hunter2", "[redacted:key#1]")).toBe(true);
    const { artifact, artifacts } = output;
    expect(artifacts!.map(({ mediaType, sha256 }) => [mediaType, sha256 === artifact!.sha256])).toEqual([
      ["application/json", true],
      ["text/plain", false],
    ]);
    expect(await textOf(artifacts![1]!.sha256) === before).toBe(true);
    const resultSize = new TextEncoder().encode(kept).length;
    expect(output).toMatchObject({ isError: true, truncated: true, isPreviewCut: true, resultSize });
    expect(output.content).toEqual([text(output.output)]);
    expect([output.output.startsWith(kept.slice(0, 60_000)), output.output.endsWith(kept.slice(-1000))]).toEqual([
      true,
      true,
    ]);
    expect(output.output).toContain(`whole text in artifact ${artifact!.sha256}`);
    expect("structuredContent" in output).toBe(false);
  });

  it("shows no part of a secret, wherever it stands", async () => {
    const secret = "hunter2-hunter2";
    const places = fc.array(fc.integer({ min: 64_000, max: 67_000 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(places, fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1000, max: 70_000 }), async (
        places,
        width,
        chunk,
      ) => {
        const filler = ["x", "é", "€"][width - 1]!;
        const whole = places.map((at) => long(at / width, filler) + secret).join("") + filler.repeat(20_000);
        const { output, textOf } = await read({ content: [text(whole)] }, { chunk });
        const clean = scrubber.text(whole);
        expect(await textOf(output.artifact?.sha256) === clean).toBe(true);
        expect(output.resultSize).toBe(new TextEncoder().encode(clean).length);
        const shown = [output.output, output.preview, JSON.stringify(output.content)];
        expect(shown.map((each) => /hunt|er2-|nter2/.test(each))).toEqual([false, false, false]);
      }),
      { numRuns: 25 },
    );
  });

  it("is shown without an artifact when the store has no room or fails at the end", async () => {
    const full = await read({ content: [text(long(200_000))] }, {
      artifacts: memoryArtifacts({ maxTotalBytes: 1000 }),
    });
    expect(full.output).toMatchObject({ truncated: true, resultSize: 200_000, artifacts: [] });
    expect(full.output.artifact).toBe(undefined);
    expect(full.errors).toMatchObject([{ code: "ERR_TOO_LARGE" }]);
    const store = memoryArtifacts();
    const failing: ArtifactStore = {
      ...store,
      maxTotalBytes: 1,
      create: async (options) => {
        const writer = await store.create(options);
        return {
          write: (bytes) => writer.write(bytes),
          commit: () => Promise.reject(new HostError("ERR_TOO_LARGE", "Cannot store an artifact: no room")),
          abort: () => writer.abort(),
        };
      },
    };
    const failed = await read({ content: [text(long(200_000))] }, { artifacts: failing });
    expect(failed.output).toMatchObject({ truncated: true, resultSize: 200_000, artifacts: [] });
    expect(failed.errors).toHaveLength(1);
  });

  it("of a scrubber that throws is none", async () => {
    const failing: Scrubber = {
      ...scrubber,
      text: (each) => each,
      value: (each) => each,
      stream: () => ({
        push: () => {
          throw new Error("broken scrubber");
        },
        end: () => "",
      }),
    };
    await expect(read({ content: [text(long(200_000))] }, { scrubber: failing })).rejects.toThrow("broken scrubber");
  });

  it("that is no result throws", async () => {
    await expect(read({ content: { text: long(200_000) } })).rejects.toMatchObject({ code: "ERR_PROTOCOL" });
  });
});
