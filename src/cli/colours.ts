import picocolors from "picocolors";

/** The colours that the command line uses. */
export interface Colours {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
}

/** Colours for a terminal, plain text for everything else, and for whoever has set `NO_COLOR`. */
export function coloursFor(isTerminal: boolean, env: Readonly<Record<string, string>>): Colours {
  return picocolors.createColors(isTerminal && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb");
}
