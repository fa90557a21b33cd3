// npm start: the example servers, the example calls, then the log until Ctrl-C. `npm start -- --once` ends after the calls.
import process from "node:process";
import { runPortcullis } from "./run.mjs";

await runPortcullis([
  "serve",
  "--config",
  "examples/mcp.config.json",
  "--calls",
  "examples/calls.json",
  ...process.argv.slice(2),
]);
