import { exactJson } from "../kernel/exact_json.ts";

/** Escape sequences of terminals: CSI; OSC, DCS, SOS, PM and APC, with their text where it has an end; the short ones. */
const SEQUENCES =
  // deno-lint-ignore no-control-regex
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])(?:[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c))?|\x1b[ -/]*[0-~]?/g;

/** Controls, and characters that are not seen but change the order or the look of what is. Line feed and tab stay. */
const INVISIBLE =
  // deno-lint-ignore no-control-regex
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Text of others, safe to print on a terminal: no escape sequence, control or hidden character is left. */
export function plain(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(SEQUENCES, "").replace(INVISIBLE, "");
}

/** The same on one line: runs of white space become one space. */
export function oneLine(text: string): string {
  return plain(text).replace(/\s+/g, " ").trim();
}

/** The first line, then at most the last `lines` others, each indented. Lines without text are left out. */
export function headAndTail(text: string, lines: number): string {
  const [head = "", ...others] = plain(text).split("\n").map((line) => line.trimEnd()).filter((line) => line !== "");
  return [head, ...others.slice(-lines).map((line) => `    ${line}`)].join("\n");
}

/** JSON whose strings keep every character but show the unsafe ones as escapes. */
export function safeJson(value: unknown, indent?: number): string {
  const text = exactJson(value, indent) ?? "null";
  return text.replace(INVISIBLE, (char) => [...char].map(escapeOf).join(""));
}

function escapeOf(char: string): string {
  let text = "";
  for (let index = 0; index < char.length; index++) {
    text += `\\u${char.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }
  return text;
}
