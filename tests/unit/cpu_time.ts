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

/**
 * How many times more processor time eight times the work takes than linear work would: 1 where it is linear, 8 where
 * it is quadratic, anything between where the processor is shared. `prepare` gives the work for a number of units.
 */
export function growthBeyondLinear(units: number, prepare: (units: number) => () => void): number {
  const [small, large] = [prepare(units), prepare(8 * units)];
  // Below some milliseconds the clock of the processor and the compiler of the runtime decide.
  return leastCpuMs(5, large) / (8 * Math.max(leastCpuMs(5, small), 5));
}
