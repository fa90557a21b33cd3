import { canonicalJson, sha256Text } from "../kernel/canonical.ts";
import { isSecretName, MIN_SECRET_LENGTH, type SecretRegistry } from "../kernel/secrets.ts";
import type { Scrubber } from "../scrub/scrubber.ts";
import type { ServerConfig } from "./config.ts";
import { credentialsOf } from "./url_credentials.ts";

/**
 * Makes known what a configuration must never show, before its server starts: values of variables and headers whose
 * names say so, tokens, and what a URL carries of both. `expanded` are values that the configuration only named
 * (`${VAR}`): whatever stood behind a name is a secret.
 */
export function registerSecrets(
  config: ServerConfig,
  registry: SecretRegistry,
  expanded: readonly string[] = [],
): void {
  for (const value of expanded) registry.add(`${config.name}.expanded`, value);
  const { transport } = config;
  if (transport.type === "stdio") {
    for (const [name, value] of Object.entries(transport.env)) {
      if (isSecretName(name)) registry.add(`env.${name}`, value);
    }
    registerArguments(transport.args, registry);
  } else {
    for (const [name, value] of Object.entries(transport.headers)) {
      if (!isSecretName(name)) continue;
      registry.add(`header.${name}`, value);
      // Servers echo the credential without its scheme.
      const credential = /^(?:bearer|basic|token)\s+(\S+)$/i.exec(value.trim())?.[1];
      if (credential !== undefined) registry.add(`header.${name}`, credential);
    }
    registerUrl(transport.url, registry);
  }
  registerMembers(config.auth, "auth", registry, 0);
}

/** `--api-key=value` and `--api-key value`; a value with a slash or a space is a path or prose. */
function registerArguments(args: readonly string[], registry: SecretRegistry): void {
  args.forEach((argument, index) => {
    const option = /^--?([A-Za-z][\w.-]*)(?:=(.*))?$/s.exec(argument);
    if (option === null || !isSecretName(option[1]!)) return;
    const value = option[2] ?? args[index + 1] ?? "";
    if (/^[^-/\s][^/\s]*$/.test(value)) registry.add(`argument.${option[1]}`, value);
  });
}

function registerUrl(text: string, registry: SecretRegistry): void {
  const url = new URL(text);
  const credentials = credentialsOf(url);
  if (credentials !== undefined) {
    // A user's name is often a token by itself; each spelling may be echoed.
    for (const part of [url.username, url.password, credentials.user, credentials.password, credentials.basic]) {
      registry.add("url.userinfo", part);
    }
  }
  for (const [name, value] of url.searchParams) {
    if (isSecretName(name)) registry.add(`url.${name}`, value);
  }
}

function registerMembers(value: object, label: string, registry: SecretRegistry, depth: number): void {
  for (const [name, member] of Object.entries(value)) {
    if (typeof member === "string") {
      if (isSecretName(name) && member.length >= MIN_SECRET_LENGTH) registry.add(`${label}.${name}`, member);
    } else if (typeof member === "object" && member !== null && depth < 8) {
      registerMembers(member, label, registry, depth + 1);
    }
  }
}

/**
 * What a grant is bound to besides the tool: how the server is reached and confined. Secrets count by name alone, so
 * that a new token keeps grants; any other change voids them. Secrets must be registered before.
 */
export function serverFingerprint(config: ServerConfig, scrubber: Scrubber): Promise<string> {
  const { transport } = config;
  const facts = transport.type === "stdio"
    ? { ...transport, env: withoutSecrets(transport.env) }
    : { ...transport, headers: Object.keys(transport.headers).map((name) => name.toLowerCase()).sort() };
  return sha256Text(
    canonicalJson(
      scrubber.value({ name: config.name, transport: facts, auth: config.auth.type, sandbox: config.sandbox }),
    ),
  );
}

function withoutSecrets(variables: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, isSecretName(name) ? "" : value]));
}
