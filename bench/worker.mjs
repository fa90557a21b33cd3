/**
 * One contestant in one process. Gets `{contestant, target, inFlight}` as its argument; then, for each line `N` on its
 * input, makes N calls and prints what they cost this process. Ends when its input ends.
 */
import { performance } from "node:perf_hooks";
import process from "node:process";
import { createInterface } from "node:readline";

const { module, target, inFlight } = JSON.parse(process.argv[2]);
const MESSAGE = "hello";

const { open } = await import(module);
const caller = await open(target);
console.log("ready");

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await measure(Number(line))));
}
await caller.close();
process.exit(0);

async function measure(calls) {
  let left = calls;
  const lane = async () => {
    while (left-- > 0) {
      const text = await caller.call(MESSAGE);
      if (text !== MESSAGE) throw new Error(`echo gave ${text}`);
    }
  };
  const cpu = process.cpuUsage();
  const start = performance.now();
  await Promise.all(Array.from({ length: inFlight }, lane));
  const wallMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return { cpuMicros: (user + system) / calls, perSecond: calls / wallMs * 1000 };
}
