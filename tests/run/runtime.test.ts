import { runtimeContract } from "../contract/runtime.ts";
import { capabilitiesHere, runtimeHere } from "./adapter.ts";
import { feed } from "./feed.ts";
import { gzipServer } from "./gzip_server.ts";
import { makeDirectory, openDescriptors, sample, title } from "./here.ts";

const runtime = await runtimeHere();
const gzipUrl = await gzipServer();
const name = title.slice(0, title.indexOf(" "));

feed(
  `runtime on ${title}`,
  runtimeContract(() => runtime, { name, sample, makeDirectory, openDescriptors, gzipUrl }, capabilitiesHere),
);
