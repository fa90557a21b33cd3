import type { Runtime } from "../../src/kernel/runtime.ts";
import { assert, assertEquals, type ContractCase } from "./contract.ts";
import { runtimeFileCases } from "./runtime_files.ts";
import { runtimeProcessCases } from "./runtime_process.ts";

/** True, or the reason why this runtime does not offer the member. A reason makes the suite check its absence. */
export type Capability = true | { readonly absent: string };

/** What the runtime under test has. Differences between runtimes are said here, with their reason. */
export interface RuntimeCapabilities {
  readonly spawn: Capability;
  readonly files: Capability;
  readonly sha256: Capability;
  /** Whether `release` closes an input pipe at once although a write waits in it. Of no matter without `spawn`. */
  readonly releasesWrites: Capability;
}

/** What the suite cannot make for itself without knowing the runtime. */
export interface RuntimeHelpers {
  /** The name that the adapter must state. */
  readonly name: string;
  /** A variable of this process (or a binding) that the adapter must show and no child may ever see. */
  readonly sample: { readonly name: string; readonly value: string };
  /** A fresh, empty directory. Needed for `spawn` and `files`. */
  makeDirectory(): Promise<string>;
  /** Descriptors that this process has open: `12`, or `12 pipe:[345]` where the system tells. Needed for `spawn`. */
  openDescriptors(): Promise<string[]>;
  /** An address that answers a gzip body with its compressed `content-length`, where there is a server to ask. */
  readonly gzipUrl?: string;
}

/**
 * What every {@link Runtime} must do. Process cases need a POSIX `sh`, `cat`, `head`, `env`, `sleep` and `setsid`.
 */
export function runtimeContract(
  makeRuntime: () => Runtime,
  helpers: RuntimeHelpers,
  capabilities: RuntimeCapabilities,
): ContractCase[] {
  return [
    ...baseCases(makeRuntime, helpers),
    ...(capabilities.sha256 === true
      ? digestCases(makeRuntime)
      : [absence(makeRuntime, "sha256", capabilities.sha256.absent)]),
    ...(capabilities.files === true
      ? runtimeFileCases(makeRuntime, helpers)
      : [absence(makeRuntime, "files", capabilities.files.absent)]),
    ...(capabilities.spawn === true
      ? runtimeProcessCases(makeRuntime, helpers, capabilities)
      : [absence(makeRuntime, "spawn", capabilities.spawn.absent)]),
  ];
}

function absence(makeRuntime: () => Runtime, member: "spawn" | "files" | "sha256", reason: string): ContractCase {
  return {
    name: `runtime leaves out ${member}: ${reason}`,
    run: () => assert(makeRuntime()[member] === undefined, `found ${member}, though it was said to be absent`),
  };
}

function baseCases(makeRuntime: () => Runtime, helpers: RuntimeHelpers): ContractCase[] {
  const cases: ContractCase[] = [
    {
      name: "runtime states its name and version",
      run: () => {
        const runtime = makeRuntime();
        assertEquals(runtime.name, helpers.name);
        assert(/^\S.*$/.test(runtime.version), `found version ${JSON.stringify(runtime.version)}`);
      },
    },
    {
      name: "runtime fetches as a plain function and as a member",
      run: async () => {
        const runtime = makeRuntime();
        const { fetch } = runtime;
        assertEquals(await (await fetch("data:text/plain,plain")).text(), "plain");
        assertEquals(await (await runtime.fetch("data:text/plain,member")).text(), "member");
      },
    },
    {
      name: "environment is a copy with the variables of the process",
      run: () => {
        const runtime = makeRuntime();
        const { name, value } = helpers.sample;
        const first = runtime.environment();
        assertEquals(first[name], value);
        first[name] = "changed";
        delete first["PATH"];
        assertEquals(runtime.environment()[name], value);
      },
    },
  ];
  const { gzipUrl } = helpers;
  if (gzipUrl !== undefined) {
    cases.push({
      name: "content-length without content-encoding bounds the decoded body, if the runtime says so",
      run: async () => {
        const runtime = makeRuntime();
        if (!runtime.contentLengthIsDecoded) return;
        const response = await runtime.fetch(gzipUrl);
        const bytes = (await response.arrayBuffer()).byteLength;
        const length = response.headers.get("content-length");
        const encoding = response.headers.get("content-encoding");
        assert(
          length === null || encoding !== null || bytes <= Number(length),
          `found content-length ${length} without content-encoding for a body of ${bytes} bytes`,
        );
      },
    });
  }
  return cases;
}

function digestCases(makeRuntime: () => Runtime): ContractCase[] {
  const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  return [
    {
      name: "digest of nothing and of abc is the published one",
      run: () => {
        const { sha256 } = makeRuntime();
        assertEquals(sha256!().hex(), empty);
        const digest = sha256!();
        digest.update(new TextEncoder().encode("abc"));
        assertEquals(digest.hex(), abc);
      },
    },
    {
      name: "digest depends on the bytes, not on how they were cut, and keeps none of them",
      run: async () => {
        const bytes = Uint8Array.from({ length: 100_003 }, (_, index) => (index * 7) % 251);
        const digest = makeRuntime().sha256!();
        const piece = new Uint8Array(1009);
        for (let at = 0; at < bytes.length; at += piece.length) {
          const part = bytes.subarray(at, at + piece.length);
          piece.set(part);
          digest.update(piece.subarray(0, part.length));
        }
        const whole = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
        assertEquals(digest.hex(), Array.from(whole, (byte) => byte.toString(16).padStart(2, "0")).join(""));
      },
    },
    {
      name: "digests under way do not disturb each other",
      run: () => {
        const { sha256 } = makeRuntime();
        const [one, two] = [sha256!(), sha256!()];
        one.update(new TextEncoder().encode("ab"));
        two.update(new TextEncoder().encode("x"));
        one.update(new TextEncoder().encode("c"));
        assertEquals(one.hex(), abc);
        assert(two.hex() !== abc, "two digests share their state");
      },
    },
  ];
}
