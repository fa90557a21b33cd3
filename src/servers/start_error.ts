import { HostError, isHostError } from "../kernel/errors.ts";
import type { Scrubber } from "../scrub/scrubber.ts";
import type { Crash } from "./crash.ts";
import { faultOf, headOf, scrubbedTail } from "./fault.ts";
import { shownError } from "./shown_error.ts";

/** How far a start had come: what the server had not done yet. */
export type StartStep = "answered" | "listed its tools";

const MAX_LINES = 5;
const MAX_LINE = 200;
/** What the lines are taken from. */
const MAX_TAIL = 2000;
/** What the start itself is called where no server's name is known. */
const UNNAMED = /^Cannot start a conversation(?: over [a-z]+)?: /;

/**
 * What a start failed with, as it may be thrown to a caller: it names the server, how far it came and what it wrote last
 * to standard error. All of it is scrubbed, and its causes too.
 */
export function startError(name: string, crash: Crash, step: StartStep, scrubber: Scrubber): HostError {
  const { error, exitCode, signal } = crash;
  const words = lastWords(crash.stderrTail, scrubber);
  const said = words === undefined ? "" : `; its last words: ${words.replaceAll("\n", " | ")}`;
  const { stderrTail: _, ...facts } = isHostError(error) ? error.facts : {};
  const failure = new HostError(
    isHostError(error) ? error.code : "ERR_START_FAILED",
    `Cannot start server "${name}": ${found(crash, step, scrubber)}${said}`,
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

/** What the status of a server says: a failure that does not tell by itself what could not be started is named. */
export function statusError(error: unknown, named: HostError): unknown {
  return isHostError(error) && !UNNAMED.test(error.message) ? error : named;
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

/** The last lines that a server wrote to standard error: scrubbed, at most five and 200 characters each, without what cannot be seen. */
export function lastWords(stderrTail: string | undefined, scrubber: Scrubber): string | undefined {
  if (stderrTail === undefined) return undefined;
  const lines = scrubbedTail(stderrTail, scrubber, MAX_TAIL)
    .split(/\r?\n/)
    .map((line) => line.replace(/\p{Cc}\[[0-9;]*[A-Za-z]/gu, "").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ").trim())
    .filter((line) => line !== "")
    .slice(-MAX_LINES)
    .map((line) => headOf(line, MAX_LINE));
  return lines.length === 0 ? undefined : lines.join("\n");
}
