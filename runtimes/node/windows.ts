import { spawn } from "node:child_process";

/** What `node:child_process` is given to start a program. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  /** The arguments are already quoted; they are joined by spaces and passed on as they are. */
  readonly verbatim: boolean;
}

/**
 * How to start a program on Windows, where many launchers (`npx`, `npm`) are batch files. Windows starts those only
 * through `cmd.exe`, which reads its command line by rules of its own: every part is put in double quotes, between
 * which all characters but `"`, `%` and line breaks stand for themselves. An argument with one of those is refused
 * with `EINVAL`, since no quoting carries it through a batch file for certain.
 *
 * @param exists tells whether there is a file at a path
 */
export function windowsLaunch(
  plan: { readonly command: string; readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> },
  exists: (path: string) => boolean,
): Launch {
  const program = findProgram(plan.command, plan.env, exists);
  if (!/\.(?:bat|cmd)$/i.test(program)) return { command: program, args: plan.args, verbatim: false };
  const line = [program, ...plan.args].map(quoteForBatch).join(" ");
  const shell = variable(plan.env, "COMSPEC") ?? "cmd.exe";
  return { command: shell, args: ["/d", "/s", "/v:off", "/c", `"${line}"`], verbatim: true };
}

/** Looks for the command as the shell would: PATH times PATHEXT. Without a find, the system shall say so. */
function findProgram(
  command: string,
  env: Readonly<Record<string, string>>,
  exists: (path: string) => boolean,
): string {
  const extensions = (variable(env, "PATHEXT") ?? ".COM;.EXE;.BAT;.CMD").split(";").filter((each) => each !== "");
  const hasExtension = extensions.some((each) => command.toLowerCase().endsWith(each.toLowerCase()));
  const endings = hasExtension ? [""] : extensions;
  const folders = /[\\/:]/.test(command)
    ? [""]
    : (variable(env, "PATH") ?? "").split(";").filter((each) => each !== "");
  for (const folder of folders) {
    const start = folder === "" || folder.endsWith("\\") ? folder : `${folder}\\`;
    for (const ending of endings) {
      if (exists(start + command + ending)) return start + command + ending;
    }
  }
  return command;
}

/** Variable names differ in case on Windows: `Path`, `PATH`. */
function variable(env: Readonly<Record<string, string>>, name: string): string | undefined {
  for (const key of Object.keys(env)) {
    if (key.toUpperCase() === name) return env[key];
  }
  return undefined;
}

function quoteForBatch(text: string): string {
  if (/["%\r\n\0]/.test(text)) {
    const message = "Cannot pass an argument to a batch file: found a double quote, a percent sign or a line break, " +
      "which cmd.exe cannot be made to take literally; start the program behind the batch file instead";
    throw Object.assign(new Error(message), { code: "EINVAL" });
  }
  // A backslash before the closing quote would escape it for the program that the batch file starts.
  return `"${text.replace(/\\+$/, "$&$&")}"`;
}

/**
 * Ends a process and all that descend from it. Windows has no polite signal, so this is always by force.
 *
 * @param otherwise runs when there is no `taskkill` on this machine
 */
export function endWindowsTree(pid: number, otherwise: () => void): void {
  const killer = spawn("taskkill", ["/pid", String(pid), "/T", "/F"], { stdio: "ignore", windowsHide: true });
  killer.on("error", otherwise);
  killer.unref();
}
