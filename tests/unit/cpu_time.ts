import process from "node:process";

/**
 * Processor time of the cheapest of some rounds, in milliseconds. Unlike the time on the wall it does not grow with
 * what else the machine is doing.
 */
export function leastCpuMs(rounds: number, run: () => void): number {
  let least = Infinity;
  for (let round = 0; round < rounds; round++) {
    const start = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}
