import type { SourceText } from "./source_text.ts";

/** A program that the docs show, and where: `src/kernel/errors.ts:86`. */
export interface DocExample {
  readonly place: string;
  readonly text: string;
}

/** The TypeScript fences of a page, or of the docstrings of a source file. */
export function readExamples({ path, text }: SourceText): DocExample[] {
  const examples: DocExample[] = [];
  const isPage = path.endsWith(".md");
  let open: string[] | undefined;
  let from = 0;
  for (const [index, whole] of text.split("\n").entries()) {
    const line = isPage ? whole : /^\s*\* ?(.*)$/.exec(whole)?.[1];
    if (line === undefined) {
      open = undefined;
    } else if (open === undefined) {
      if (/^```ts\b/.test(line)) [open, from] = [[], index + 1];
    } else if (line === "```") {
      examples.push({ place: `${path}:${from}`, text: open.join("\n") });
      open = undefined;
    } else {
      open.push(line);
    }
  }
  return examples;
}

/** Each example as a module of its own; `export {}` keeps its names to itself. */
export function asModules(examples: readonly DocExample[]): SourceText[] {
  return examples.map(({ text }, index) => ({ path: `doc_example_${index}.ts`, text: `${text}\nexport {};\n` }));
}
