import { join } from "node:path";
import ts from "typescript";
import { root, type SourceText } from "./source_text.ts";

const parsedOnce = new Map<string, ts.SourceFile | undefined>();

/**
 * Compiles a project of the repository, together with files that are not on disk, and returns what the compiler has to
 * say: about those files when there are any, else about everything.
 */
export function compile(
  project: string,
  planted: readonly SourceText[] = [],
  more: ts.CompilerOptions = {},
): string[] {
  const { config } = ts.readConfigFile(join(root, project), ts.sys.readFile);
  const parsed = ts.parseJsonConfigFileContent(config, ts.sys, join(root, project, ".."));
  const options: ts.CompilerOptions = { ...parsed.options, ...more };
  const extra = new Map(planted.map(({ path, text }) => [join(root, path), text]));
  const host = ts.createCompilerHost(options, true);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => extra.has(name) || fileExists(name);
  host.getSourceFile = (name, languageVersion, ...rest) => {
    const text = extra.get(name);
    if (text !== undefined) return ts.createSourceFile(name, text, languageVersion, true);
    if (!parsedOnce.has(name)) parsedOnce.set(name, getSourceFile(name, languageVersion, ...rest));
    return parsedOnce.get(name);
  };
  const program = ts.createProgram({
    rootNames: extra.size === 0 ? parsed.fileNames : [...extra.keys()],
    options,
    host,
  });
  return ts.getPreEmitDiagnostics(program)
    .filter(({ file }) => extra.size === 0 || file === undefined || extra.has(file.fileName))
    .map(({ file, start, messageText }) => {
      const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start ?? 0).line + 1;
      return `${file?.fileName.slice(root.length + 1) ?? ""}:${line} ${
        ts.flattenDiagnosticMessageText(messageText, " ")
      }`;
    });
}
