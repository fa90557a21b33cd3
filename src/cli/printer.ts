import type { ConfigProblem } from "../config/problem.ts";
import { type Colours, coloursFor } from "./colours.ts";
import { plain } from "./safe_text.ts";
import type { Output, Terminal } from "./terminal.ts";

/** Width where nobody says one: some terminals report 0, some nothing. */
const DEFAULT_COLUMNS = 80;

/** Width of a terminal; absent for anything else, so that nothing is cut that goes into a file. */
export function columnsOf({ isTerminal, columns }: Output): number | undefined {
  if (!isTerminal) return undefined;
  return columns !== undefined && columns > 0 ? columns : DEFAULT_COLUMNS;
}

/** Writes what people read. Whatever is passed in may hold text of others; what comes out is safe on a terminal. */
export class Printer {
  readonly colours: Colours;
  readonly #errorColours: Colours;
  readonly #terminal: Terminal;

  constructor(terminal: Terminal) {
    const env = terminal.runtime.environment();
    this.#terminal = terminal;
    this.colours = coloursFor(terminal.out.isTerminal, env);
    this.#errorColours = coloursFor(terminal.err.isTerminal, env);
  }

  /** Width of the output, as {@link columnsOf} has it. */
  get columns(): number | undefined {
    return columnsOf(this.#terminal.out);
  }

  /** One or more lines of output. The text must be safe already: it may hold colours. */
  async line(text = ""): Promise<void> {
    await this.#terminal.out.write(`${text}\n`);
  }

  async error(message: string): Promise<void> {
    await this.#terminal.err.write(`${this.#errorColours.red("error:")} ${plain(message)}\n`);
  }

  async warning(message: string): Promise<void> {
    await this.#terminal.err.write(`${this.#errorColours.yellow("warning:")} ${plain(message)}\n`);
  }

  /** Tells whoever sits at the terminal what is going on; not for files and scripts. */
  async notice(message: string): Promise<void> {
    if (this.#terminal.err.isTerminal) await this.#terminal.err.write(`${this.#errorColours.dim(plain(message))}\n`);
  }

  async problems(problems: readonly ConfigProblem[]): Promise<void> {
    for (const { severity, message } of problems) {
      await (severity === "warning" ? this.warning(message) : this.error(message));
    }
  }
}
