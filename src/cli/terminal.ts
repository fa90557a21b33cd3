import type { Runtime } from "../kernel/runtime.ts";

/** One of the two outputs of a program. */
export interface Output {
  /** A promise asks the caller to wait before writing more. Never throws: where nobody reads any more, text is dropped. */
  write(text: string): void | Promise<void>;
  readonly isTerminal: boolean;
  /** Width in characters; absent or 0 where it is not known. */
  readonly columns?: number | undefined;
}

/** One of the answers that a person may choose. */
export interface Choice {
  readonly value: string;
  readonly label: string;
  readonly hint?: string;
}

/** Lets a person choose; `undefined` when they would rather stop the program or when the signal fires. */
export type Choose = (question: string, choices: readonly Choice[], signal: AbortSignal) => Promise<string | undefined>;

/** All that the command line knows of the process it runs in. `runtimes/<runtime>/cli.ts` fills it in. */
export interface Terminal {
  readonly runtime: Runtime;
  /** Without the program and the script. */
  readonly args: readonly string[];
  readonly out: Output;
  readonly err: Output;
  /**
   * Asks on the terminal. Absent where nobody can answer: input or output is no terminal. When the person would rather
   * stop the program, `interrupted` fires too.
   */
  readonly choose?: Choose | undefined;
  /** Fires at the first request to end: Ctrl-C, SIGTERM, a reader of the output that has gone. */
  readonly interrupted: AbortSignal;
}
