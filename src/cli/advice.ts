/** What the library advises whoever writes a program, and what whoever types a command can do instead. */
const ADVICE: readonly (readonly [inCode: string | RegExp, typed: string])[] = Object.freeze([
  [`hand "approve" to the host`, "run it on a terminal, where you are asked"],
  ["open the host with takeOver: true", "use --take-over"],
  // Each command starts all servers afresh.
  [/; host\.restartMcpServer\("[^"]*"\) starts it again/, ""],
]);

/** A message of the library's with advice that can be followed on the command line. */
export function adviceForCommand(message: string): string {
  return ADVICE.reduce((text, [inCode, typed]) => text.replace(inCode, typed), message);
}
