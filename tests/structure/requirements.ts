import ts from "typescript";
import { type SourceText, walk } from "./source_text.ts";

/** The id of a duty of a client in the checklist of the wire digest: `C-RPC-01`. */
const DUTY = /\bC-[A-Z]+-\d\d\b/g;

/** The id of a row in the table of attacks: `A-12`. */
export const ATTACK: RegExp = /\bA-\d\d\b/g;

/** The duties of a client, in the order of the checklist. */
export function dutiesOf(checklist: string): string[] {
  return [...checklist.matchAll(/^- (C-[A-Z]+-\d\d) /gm)].map((match) => match[1]!);
}

/** A row of the table of attacks, and what kind of thing it attacks. */
export interface Attack {
  readonly id: string;
  readonly where: string;
}

/** The rows of the table of attacks, in its order. */
export function attacksOf(page: string): Attack[] {
  return [...page.matchAll(/^\| (A-\d\d) \| ([^|]+?) \|/gm)].map((match) => ({ id: match[1]!, where: match[2]! }));
}

/**
 * What a test file claims to show, duties if not said otherwise, each with the titles that name it. A title is any text
 * in the file, since some come from tables; a comment is none.
 */
export function claimsOf(file: SourceText, ids: RegExp = DUTY): Map<string, string[]> {
  const claims = new Map<string, string[]>();
  walk(file, (node) => {
    if (!ts.isStringLiteralLike(node) && !ts.isTemplateHead(node) && !ts.isTemplateMiddleOrTemplateTail(node)) return;
    for (const [id] of node.text.matchAll(ids)) claims.set(id, [...(claims.get(id) ?? []), node.text]);
  });
  return claims;
}
