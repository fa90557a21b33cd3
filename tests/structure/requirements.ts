import ts from "typescript";
import { type SourceText, walk } from "./source_text.ts";

/** The id of a duty of a client in the checklist of the wire digest: `C-RPC-01`. */
const ID = /\bC-[A-Z]+-\d\d\b/g;

/** The duties of a client, in the order of the checklist. */
export function dutiesOf(checklist: string): string[] {
  return [...checklist.matchAll(/^- (C-[A-Z]+-\d\d) /gm)].map((match) => match[1]!);
}

/**
 * The duties that a test file claims to show, each with the titles that name it. A title is any text in the file, since
 * some come from tables; a comment is none.
 */
export function claimsOf(file: SourceText): Map<string, string[]> {
  const claims = new Map<string, string[]>();
  walk(file, (node) => {
    if (!ts.isStringLiteralLike(node) && !ts.isTemplateHead(node) && !ts.isTemplateMiddleOrTemplateTail(node)) return;
    for (const [id] of node.text.matchAll(ID)) claims.set(id, [...(claims.get(id) ?? []), node.text]);
  });
  return claims;
}
