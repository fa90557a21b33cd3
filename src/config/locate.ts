import { findNodeAtLocation, type JSONPath, type Node } from "jsonc-parser";

/** A place in a text: both count from 1, columns in UTF-16 code units, as editors show them. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** The place of an offset. Lines end with `\n`, `\r\n` or `\r`. */
export function placeOf(text: string, offset: number): Place {
  let line = 1;
  let start = 0;
  const end = Math.min(offset, text.length);
  for (let index = 0; index < end; index++) {
    const char = text[index];
    if (char !== "\n" && (char !== "\r" || text[index + 1] === "\n")) continue;
    line++;
    start = index + 1;
  }
  return { line, column: end - start + 1 };
}

/** The longest beginning of `path` that the text has: where something is missing, that is where it is missed. */
export function existingPath(root: Node, path: JSONPath): JSONPath {
  for (let length = path.length; length > 0; length--) {
    if (findNodeAtLocation(root, path.slice(0, length)) !== undefined) return path.slice(0, length);
  }
  return [];
}

/** Where the value at `path` begins; of the text as a whole for a path that it does not have. */
export function offsetOf(root: Node, path: JSONPath): number {
  return (findNodeAtLocation(root, path) ?? root).offset;
}

/** Where the key that leads to the value at `path` begins; for members of lists, the value itself. */
export function keyOffsetOf(root: Node, path: JSONPath): number {
  const node = findNodeAtLocation(root, path) ?? root;
  return node.parent?.type === "property" ? node.parent.offset : node.offset;
}

/** A path as people write it: `mcpServers.files.args[1]`, with quotes round keys that are no plain words. */
export function formatPath(path: JSONPath): string {
  let text = "";
  for (const segment of path) {
    if (typeof segment === "number") text += `[${segment}]`;
    else if (/^[$\w-]+$/.test(segment)) text += text === "" ? segment : `.${segment}`;
    else text += `[${JSON.stringify(segment.length > 64 ? `${segment.slice(0, 64)}...` : segment)}]`;
  }
  return text;
}
