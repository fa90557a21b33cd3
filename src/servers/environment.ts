import type { StdioTransportConfig } from "./config_transport.ts";

/**
 * What a child inherits unless its configuration says otherwise: what programs need to start and to speak the user's
 * language, and none of the host's secrets. Names with `LC_` in front belong to it too.
 */
const BASE: ReadonlySet<string> = new Set([
  ...["PATH", "HOME", "LANG", "TMPDIR", "TZ", "USER", "LOGNAME", "SHELL", "TERM"],
  // Windows: without these, launchers and most runtimes do not start.
  ...[
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
  ],
  ...[
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "COMMONPROGRAMFILES",
  ],
  ...["ALLUSERSPROFILE", "PUBLIC", "OS", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE"],
]);

/** A child's whole environment: the part of the host's that it inherits, and over it what its configuration names. */
export function childEnvironment(
  config: StdioTransportConfig,
  host: Readonly<Record<string, string>>,
): Record<string, string> {
  if (config.inheritEnv === "none") return { ...config.env };
  const inherited = Object.entries(host).filter(([name, value]) => config.inheritEnv === "all" || isBase(name, value));
  // Windows takes `Path` and `PATH` for one variable; what the user set must be the only one left.
  const foldsCase = Object.keys(host).some((name) => name.toUpperCase() === "SYSTEMROOT");
  const configured = new Set(Object.keys(config.env).map((name) => (foldsCase ? name.toUpperCase() : name)));
  const kept = inherited.filter(([name]) => !configured.has(foldsCase ? name.toUpperCase() : name));
  return { ...Object.fromEntries(kept), ...config.env };
}

function isBase(name: string, value: string): boolean {
  const upper = name.toUpperCase();
  // A shell function smuggled in as a variable is code, not a setting.
  return (BASE.has(upper) || upper.startsWith("LC_")) && !value.startsWith("()");
}
