import { join } from "node:path";
import ts from "typescript";
import { root, type SourceText } from "./source_text.ts";

const parsedOnce = new Map<string, ts.SourceFile | undefined>();

/**
 * Compiles the core as `src/tsconfig.json` says, with one file more when `planted` is given, and returns what the
 * compiler has to say.
 */
export function compileCore(planted?: SourceText): string[] {
  const path = join(root, "src", "tsconfig.json");
  const { config } = ts.readConfigFile(path, ts.sys.readFile);
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, join(root, "src"));
  const extra = planted === undefined ? undefined : join(root, planted.path);
  const host = ts.createCompilerHost(options, true);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name === extra || fileExists(name);
  host.getSourceFile = (name, languageVersion, ...rest) => {
    if (name === extra) return ts.createSourceFile(name, planted!.text, languageVersion, true);
    if (!parsedOnce.has(name)) parsedOnce.set(name, getSourceFile(name, languageVersion, ...rest));
    return parsedOnce.get(name);
  };
  const program = ts.createProgram({
    rootNames: extra === undefined ? fileNames : [...fileNames, extra],
    options,
    host,
  });
  return ts.getPreEmitDiagnostics(program)
    .filter(({ file }) => extra === undefined || file === undefined || file.fileName === extra)
    .map(({ file, start, messageText }) => {
      const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start ?? 0).line + 1;
      return `${file?.fileName.slice(root.length + 1) ?? ""}:${line} ${
        ts.flattenDiagnosticMessageText(messageText, " ")
      }`;
    });
}
