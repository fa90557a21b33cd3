import { fileStore } from "../../src/events/file_store.ts";
import { randomIds } from "../../src/kernel/ids.ts";
import { fileArtifacts } from "../../src/store/file_artifacts.ts";
import { artifactStoreCases } from "../contract/artifact_store.ts";
import { eventStoreCases } from "../contract/event_store.ts";
import { FakeClock } from "../fixtures/fake_clock.ts";
import { runtimeHere } from "./adapter.ts";
import { feed } from "./feed.ts";
import { makeDirectory, title } from "./here.ts";

const { files, sha256 } = await runtimeHere();

feed(
  `artifacts in files on ${title}`,
  artifactStoreCases("file artifacts", async (options) => {
    const directory = files!.join(await makeDirectory(), "artifacts");
    return fileArtifacts({ files: files!, directory, ids: randomIds, sha256: sha256!, ...options });
  }),
);

feed(
  `event log in files on ${title}`,
  eventStoreCases("file event store", async () => {
    const options = { files: files!, directory: await makeDirectory(), clock: new FakeClock(), ids: randomIds };
    return {
      store: fileStore(options),
      reopen: async () => fileStore(options),
      second: async () => fileStore(options),
    };
  }),
);
