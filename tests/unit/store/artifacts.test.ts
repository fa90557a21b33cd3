import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { countingIds } from "../../../src/kernel/ids.ts";
import type { Digest } from "../../../src/kernel/runtime.ts";
import { fileArtifacts, type FileArtifactsOptions } from "../../../src/store/file_artifacts.ts";
import { memoryArtifacts } from "../../../src/store/memory_artifacts.ts";
import { artifactStoreCases } from "../../contract/artifact_store.ts";
import { MemoryFiles } from "../../fixtures/memory_files.ts";

const sha256 = (): Digest => {
  const hash = createHash("sha256");
  return { update: (bytes) => void hash.update(bytes), hex: () => hash.digest("hex") };
};
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");
const pathOf = (text: string): string => `artifacts/${hashOf(text).slice(0, 2)}/${hashOf(text).slice(2)}`;

function make(files: MemoryFiles, options: Partial<FileArtifactsOptions> = {}) {
  return fileArtifacts({ files, directory: "artifacts", ids: countingIds(), sha256, ...options });
}

describe("memory artifacts", () => {
  for (const { name, run } of artifactStoreCases("memory artifacts", async (options) => memoryArtifacts(options))) {
    it(name, run);
  }
});

describe("file artifacts", () => {
  const cases = artifactStoreCases("file artifacts", async (options) => make(new MemoryFiles(), options));
  for (const { name, run } of cases) it(name, run);
});

describe("file artifacts without a streaming digest", () => {
  const cases = artifactStoreCases("file artifacts without a streaming digest", async (options) => {
    const { sha256: _, ...rest } = { sha256, files: new MemoryFiles(), directory: "artifacts", ids: countingIds() };
    return fileArtifacts({ ...rest, ...options });
  });
  for (const { name, run } of cases) it(name, run);
});

describe("file artifacts on a disk", () => {
  it("keep content byte for byte under its name, for the user alone", async () => {
    const files = new MemoryFiles();
    const store = make(files);
    const writer = await store.create({ mediaType: "text/plain" });
    await writer.write(bytes("hello"));
    await writer.commit();
    const path = pathOf("hello");
    expect(files.paths).toEqual([path, `${path}.type`]);
    expect(files.text(path)).toBe("hello");
    expect(files.text(`${path}.type`)).toBe("text/plain");
    expect(files.modeOf(path)).toBe(0o600);
    expect(files.modeOf(`${path}.type`)).toBe(0o600);
    expect(files.modeOf(path.slice(0, path.lastIndexOf("/")))).toBe(0o700);
    expect(files.openHandles).toBe(0);
  });

  it("survive a power cut once they are committed, and leave nothing visible before", async () => {
    const files = new MemoryFiles();
    const store = make(files);
    const done = await store.create({ mediaType: "text/plain" });
    await done.write(bytes("done"));
    await done.commit();
    const open = await store.create({ mediaType: "text/plain" });
    await open.write(bytes("open"));
    files.cutPower();
    const again = make(files);
    expect(await again.read(hashOf("done"))).toEqual(bytes("done"));
    expect((await again.stat(hashOf("done")))?.mediaType).toBe("text/plain");
    expect(await again.stat(hashOf("open"))).toBeUndefined();
  });

  it("write everything when the system takes a few bytes at a time", async () => {
    const files = new MemoryFiles();
    files.fault = ({ kind }) => kind === "write" ? { written: 3 } : undefined;
    const writer = await make(files).create({ mediaType: "text/plain" });
    await writer.write(bytes("a longer text"));
    await writer.commit();
    expect(files.text(pathOf("a longer text"))).toBe("a longer text");
    expect(files.text(`${pathOf("a longer text")}.type`)).toBe("text/plain");
  });

  it.each(["write", "sync", "rename", "syncDirectory"] as const)("leave nothing behind when %s fails", async (kind) => {
    const files = new MemoryFiles();
    const store = make(files, { maxTotalBytes: 5 });
    const writer = await store.create({ mediaType: "text/plain" });
    files.fault = (operation) => operation.kind === kind ? "ENOSPC" : undefined;
    const failed = Promise.resolve(writer.write(bytes("hello"))).then(() => writer.commit());
    await expect(failed).rejects.toMatchObject({ code: "ERR_TOO_LARGE" });
    files.fault = undefined;
    await writer.abort();
    expect(await store.stat(hashOf("hello"))).toBeUndefined();
    expect(files.paths).toEqual([]);
    expect(files.openHandles).toBe(0);
    // The quota has its room back.
    const next = await store.create({ mediaType: "text/plain" });
    await next.write(bytes("12345"));
    await next.commit();
  });

  it("tell an error of the disk at the commit when nobody waited for the write", async () => {
    const files = new MemoryFiles();
    const writer = await make(files).create({ mediaType: "text/plain" });
    files.fault = ({ kind }) => kind === "write" ? "EIO" : undefined;
    const write = writer.write(bytes("x"));
    await expect(writer.commit()).rejects.toMatchObject({ code: "EIO" });
    await expect(write).rejects.toMatchObject({ code: "EIO" });
    await writer.abort();
  });

  it("count what is there already, unfinished files too", async () => {
    const files = new MemoryFiles();
    const first = make(files);
    const writer = await first.create({ mediaType: "text/plain" });
    await writer.write(bytes("12345"));
    await writer.commit();
    files.put("artifacts/unfinished/part_old", "123");
    const store = make(files, { maxTotalBytes: 9 });
    const next = await store.create({ mediaType: "text/plain" });
    await expect(next.write(bytes("ab"))).rejects.toMatchObject({ code: "ERR_TOO_LARGE" });
    await next.abort();
  });

  it("abort what is being written when they are closed", async () => {
    const files = new MemoryFiles();
    const store = make(files);
    const writer = await store.create({ mediaType: "text/plain" });
    await writer.write(bytes("half"));
    await store.close();
    expect(files.paths).toEqual([]);
    expect(files.openHandles).toBe(0);
  });

  it("refuse one that must be hashed whole past 64 MiB", async () => {
    const { sha256: _, ...options } = { sha256, files: new MemoryFiles(), directory: "artifacts", ids: countingIds() };
    const writer = await fileArtifacts(options).create({ mediaType: "text/plain" });
    await expect(writer.write(new Uint8Array(64 * 1024 * 1024 + 1))).rejects.toMatchObject({ code: "ERR_TOO_LARGE" });
    await writer.abort();
  });
});
