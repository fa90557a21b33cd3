import { workerdRuntime } from "../../runtimes/workerd/mod.ts";
import { memoryStore } from "../../src/events/memory_store.ts";
import { createScrubber } from "../../src/scrub/known_values.ts";
import { memoryArtifacts } from "../../src/store/memory_artifacts.ts";
import { memoryKeyValue } from "../../src/store/memory_kv.ts";
import { artifactStoreCases } from "../contract/artifact_store.ts";
import type { ContractCase } from "../contract/contract.ts";
import { eventStoreCases } from "../contract/event_store.ts";
import { gateCases } from "../contract/gate.ts";
import { keyValueCases } from "../contract/key_value.ts";
import { runtimeContract } from "../contract/runtime.ts";
import { scrubberCases } from "../contract/scrubber.ts";
import { hostGate } from "./gate_subject.ts";

/** What the worker is given by the program that starts it. */
export interface Bindings {
  readonly SAMPLE: string;
  readonly GZIP_URL: string;
}

/** How a case ended; `failure` is absent when it passed. */
export interface CaseReport {
  readonly failure?: { readonly name: string; readonly message: string; readonly stack: string };
}

/** Every contract suite that an isolate can run: it has no processes, no files and no `node:` modules. */
const suites: Readonly<Record<string, (bindings: Bindings) => ContractCase[]>> = {
  runtime: runtimeCases,
  "key-value store": () => keyValueCases("memory key-value store", async () => memoryKeyValue()),
  artifacts: () => artifactStoreCases("memory artifacts", async (options) => memoryArtifacts(options)),
  "event log": () => eventStoreCases("memory event store", async () => ({ store: memoryStore() })),
  scrubber: () => scrubberCases("scrubber of known values", createScrubber),
  gate: () => gateCases(hostGate),
};

function runtimeCases(bindings: Bindings): ContractCase[] {
  const nothingHere = (): Promise<never> => Promise.reject(new Error("an isolate has no directories and descriptors"));
  return runtimeContract(() => workerdRuntime({ bindings: { ...bindings } }), {
    name: "workerd",
    sample: { name: "SAMPLE", value: bindings.SAMPLE },
    makeDirectory: nothingHere,
    openDescriptors: nothingHere,
    gzipUrl: bindings.GZIP_URL,
  }, {
    spawn: { absent: "an isolate starts no processes" },
    files: { absent: "an isolate has no disk" },
    sha256: { absent: "its streaming digest answers asynchronously" },
    releasesWrites: { absent: "an isolate starts no processes" },
  });
}

/** `GET /` lists the names of the cases by suite; `GET /<suite>/<index>` runs one and reports. */
export default {
  async fetch(request: Request, bindings: Bindings): Promise<Response> {
    const [, suite = "", index] = decodeURIComponent(new URL(request.url).pathname).split("/");
    if (suite === "") {
      const lists = Object.entries(suites).map(([name, cases]) => [name, cases(bindings).map((each) => each.name)]);
      return Response.json(Object.fromEntries(lists));
    }
    return Response.json(await report(suites[suite]!(bindings)[Number(index)]!));
  },
};

async function report(contractCase: ContractCase): Promise<CaseReport> {
  try {
    await contractCase.run();
    return {};
  } catch (error) {
    const { name, message, stack = "" } = error instanceof Error ? error : new Error(`thrown: ${String(error)}`);
    return { failure: { name, message, stack } };
  }
}
