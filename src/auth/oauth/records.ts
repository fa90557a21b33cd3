import type { Clock } from "../../kernel/clock.ts";
import { sha256Text } from "../../kernel/canonical.ts";
import type { KeyValue } from "../../store/key_value.ts";

/** A registration at one authorization server, for one redirect address (RFC 7591). */
export interface ClientRecord {
  readonly clientId: string;
  readonly clientSecret?: string;
  /** How it proves itself at the token endpoint, where the registration says so. */
  readonly method?: string;
}

/** What a login has brought. */
export interface TokenRecord {
  readonly issuer: string;
  /** Absent where the server has no metadata of a resource. */
  readonly resource?: string;
  readonly clientId: string;
  /** `Bearer` or `DPoP`. */
  readonly type: string;
  readonly access: string;
  readonly refresh?: string;
  /** Epoch milliseconds by the clock of this host; absent where the server has not said. */
  readonly expiresAt?: number;
  /** What was granted, separated by spaces; what was asked for where the server has not said. */
  readonly scope?: string;
  /** What was asked for. */
  readonly asked?: string;
  /** Somebody is exchanging `refresh` for another: nobody else may until then. */
  readonly lease?: { readonly by: string; readonly until: number };
}

/** A record as it lies in the store, for {@link Records.replace}. */
export interface Stored<T> {
  readonly value: T;
  readonly bytes: Uint8Array;
}

/** Typed access to what logins keep: small records under keys that do not tell whose they are. */
export class Records {
  readonly #kv: KeyValue;

  constructor(kv: KeyValue) {
    this.#kv = kv;
  }

  async get<T>(key: string): Promise<Stored<T> | undefined> {
    const bytes = await this.#kv.get(key);
    if (bytes === undefined) return undefined;
    try {
      const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
      return typeof value === "object" && value !== null ? { value: value as T, bytes } : undefined;
    } catch {
      return undefined; // another program's bytes: as good as none
    }
  }

  /** Puts a record in the place of the one that was read; false when it is another by now. */
  replace(key: string, before: Stored<unknown>, value: object): Promise<boolean> {
    return this.#kv.compareAndSet(key, before.bytes, encode(value));
  }

  /** Puts a record whatever is there. */
  async put(key: string, value: object): Promise<void> {
    for (;;) {
      if (await this.#kv.putIfAbsent(key, encode(value))) return;
      const bytes = await this.#kv.get(key);
      if (bytes !== undefined && await this.#kv.compareAndSet(key, bytes, encode(value))) return;
    }
  }

  delete(key: string): Promise<void> {
    return this.#kv.delete(key);
  }
}

function encode(value: object): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** The key of what belongs to all of these together. */
export async function recordKey(kind: "client" | "token" | "place", ...parts: readonly string[]): Promise<string> {
  return `oauth/${kind}/${(await sha256Text(JSON.stringify(parts))).replace(/^sha256:/, "")}`;
}

/** Time that is left before a token counts as expired: what it takes to be sent, and clocks that differ. */
const SKEW_MS = 30_000;

/** True for a token that should not be shown any more. */
export function isExpired({ expiresAt }: TokenRecord, clock: Clock): boolean {
  return expiresAt !== undefined && expiresAt - SKEW_MS <= clock.now();
}

/** All of these scopes, each once, separated by spaces; `undefined` for none. */
export function unionOf(...scopes: readonly (string | undefined)[]): string | undefined {
  const all = new Set(scopes.flatMap((scope) => scope?.split(" ") ?? []).filter((scope) => scope !== ""));
  return all.size === 0 ? undefined : [...all].join(" ");
}
