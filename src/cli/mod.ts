/**
 * The command line, for `runtimes/<runtime>/cli.ts`.
 * @module
 */
export { chooseOnTerminal } from "./choose.ts";
export { runCommandLine } from "./main.ts";
export type { Choice, Choose, Output, Terminal } from "./terminal.ts";
