/**
 * The client that the conformance suite judges. The suite starts it with the server's URL as its last argument, the name
 * of the scenario and its data in the environment. It exits with 0 when all went well, and says how it ended:
 * `driver: done` or `driver: failed: ...`.
 */
import process from "node:process";
import type { JsonObject } from "../../src/client/mod.ts";
import { scenarioOf } from "./scenarios.ts";

const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const url = process.argv.at(-1) ?? "";
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as JsonObject;

try {
  const run = scenarioOf(scenario);
  if (run === undefined) {
    throw new Error(`no scenario is called ${JSON.stringify(scenario)}`);
  }
  await run({ scenario, url, context });
  console.log("driver: done");
  process.exit(0);
} catch (error) {
  console.log(`driver: failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
