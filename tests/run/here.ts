import { mkdtemp, readdir, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll } from "vitest";
import { runtimeHere } from "./adapter.ts";

const runtime = await runtimeHere();

/** Heads the suites' names: `bun 1.4.5`. */
export const title: string = `${runtime.name} ${runtime.version}`;
console.log(`running on ${title}`);

/** A variable of this process that no child may see. */
export const sample: { readonly name: string; readonly value: string } = {
  name: "PORTCULLIS_TEST_SAMPLE",
  value: `sample-${process.pid}-of-the-host`,
};
process.env[sample.name] = sample.value;

const directories: string[] = [];

/** A fresh, empty directory that goes away when the test file is done. */
export async function makeDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "portcullis-"));
  directories.push(directory);
  return directory;
}

afterAll(async () => {
  await Promise.all(directories.map((each) => rm(each, { recursive: true, force: true })));
});

/** Descriptors that this process has open, with what they lead to where the system tells; listing opens one more. */
export async function openDescriptors(): Promise<string[]> {
  const numbers = await readdir("/dev/fd");
  return await Promise.all(numbers.map(async (number) => {
    try {
      return `${number} ${await readlink(`/dev/fd/${number}`)}`;
    } catch {
      return number; // closed since, or a system that does not tell
    }
  }));
}
