import { HostError, isHostError } from "../kernel/errors.ts";
import type { Scrubber } from "../scrub/scrubber.ts";
import type { Crash } from "./crash.ts";
import { faultOf, headOf, scrubbedExcerpt, scrubbedTail } from "./fault.ts";
import { shownError } from "./shown_error.ts";

/** How far a start had come: what the server had not done yet. */
export type StartStep = "answered" | "listed its tools";

/** What a failed start has told, beside how it ended. */
export interface StartSigns {
  readonly step: StartStep;
  /** The first line of its output that was no message. */
  readonly noise: string | undefined;
}

const MAX_LINES = 5;
const MAX_LINE = 200;
/** What the lines are taken from. */
const MAX_TAIL = 2000;
/** What names an error stands above its stack, and more behind it. */
const NAMES_ERROR = /^[\w.]*Error\b|\berror:/i;
/** What the start itself is called where no server's name is known. */
const UNNAMED = /^Cannot start a conversation(?: over [a-z]+)?: /;

/**
 * What a start failed with, as it may be thrown to a caller: it names the server, how far it came, what it wrote that was
 * no message, and what it wrote last to standard error. All of it is scrubbed, and its causes too.
 */
export function startError(name: string, crash: Crash, signs: StartSigns, scrubber: Scrubber): HostError {
  const { error, exitCode, signal } = crash;
  const words = lastWords(crash.stderrTail, scrubber);
  const { step, noise } = signs;
  const output = noise === undefined ? "" : noiseText(noise, scrubber);
  const said = words === undefined ? "" : `; its last words: ${words.replaceAll("\n", " | ")}`;
  const { stderrTail: _, ...facts } = isHostError(error) ? error.facts : {};
  const failure = new HostError(
    isHostError(error) ? error.code : "ERR_START_FAILED",
    `Cannot start server "${name}": ${found(crash, step, scrubber)}${output}${said}`,
    {
      cause: error,
      facts: {
        server: name,
        ...facts,
        ...(exitCode === undefined ? {} : { exitCode }),
        ...(signal === undefined ? {} : { signal }),
        ...(words === undefined ? {} : { stderrTail: words }),
      },
    },
  );
  return shownError(failure, scrubber) as HostError;
}

/**
 * What the status of a server says: a failure that does not tell by itself what could not be started, or what to do about
 * it, is named.
 */
export function statusError(error: unknown, named: HostError): unknown {
  return isHostError(error) && !UNNAMED.test(error.message) && adviceOn(error) === "" ? error : named;
}

function found({ error, exitCode, signal }: Crash, step: StartStep, scrubber: Scrubber): string {
  const isTimeout = isHostError(error, "ERR_START_TIMEOUT");
  if (!isTimeout && exitCode !== undefined) return `it exited with code ${exitCode} before it ${step}`;
  if (!isTimeout && signal !== undefined) return `it was ended by ${signal} before it ${step}`;
  const message = faultOf(error, scrubber).message.replace(UNNAMED, "");
  const text = message.charAt(0).toLowerCase() + message.slice(1) + adviceOn(error);
  const asked = isTimeout ? error.facts["method"] : undefined;
  return typeof asked === "string" ? `${text} (it was asked ${asked})` : text;
}

/** A command line where a command should be is found by nobody: no shell takes it apart. */
function adviceOn(error: unknown): string {
  if (!isHostError(error, "ERR_START_FAILED")) return "";
  const { command, cause } = error.facts;
  const isAbsent = cause === "ENOENT" || cause === "NotFound";
  return isAbsent && typeof command === "string" && /\S\s+\S/.test(command) ? `; arguments go into "args"` : "";
}

function noiseText(line: string, scrubber: Scrubber): string {
  const text = visible(scrubbedExcerpt(line, scrubber, MAX_LINE));
  return text === "" ? "" : `; its output is not JSON-RPC: "${text}"`;
}

/**
 * The last lines that a server wrote to standard error, and before them the last one that names an error, which stands
 * above its stack: scrubbed, at most five and 200 characters each, without what cannot be seen.
 */
export function lastWords(stderrTail: string | undefined, scrubber: Scrubber): string | undefined {
  if (stderrTail === undefined) return undefined;
  const lines = scrubbedTail(stderrTail, scrubber, MAX_TAIL)
    .split(/\r?\n/)
    .map(visible)
    .filter((line) => line !== "");
  if (lines.length === 0) return undefined;
  const last = lines.slice(-MAX_LINES);
  const naming = lines.filter((line) => NAMES_ERROR.test(line)).at(-1);
  const told = naming === undefined || last.includes(naming) ? last : [naming, ...last.slice(1)];
  return told.map((line) => headOf(line, MAX_LINE)).join("\n");
}

/** One line without colours and what cannot be seen. */
function visible(line: string): string {
  return line.replace(/\p{Cc}\[[0-9;]*[A-Za-z]/gu, "").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ").trim();
}
