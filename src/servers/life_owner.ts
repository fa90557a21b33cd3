import type { Catalog } from "../catalog/catalog.ts";
import type { EventInput, HostEvent } from "../events/event.ts";
import type { ServerConfig } from "./config.ts";
import type { Dialed } from "./dial.ts";
import type { Connection } from "./connection.ts";
import type { Notices } from "./notices.ts";
import type { Offers } from "./offers.ts";
import type { RestartPolicy } from "./restart_policy.ts";
import type { ServerState } from "./server.ts";
import type { StartContext } from "./start.ts";

/** What all servers of one manager share. */
export interface LifeContext extends StartContext {
  readonly append: (events: readonly EventInput[]) => Promise<readonly HostEvent[]>;
  readonly dial: (config: ServerConfig) => Dialed;
  readonly policy: RestartPolicy;
}

/** A life, as its owner sees it while it is told something. */
export interface LifeView {
  readonly isOver: boolean;
  readonly connection: Connection | undefined;
}

/** What a life tells the server that leads it. All of it is synchronous. */
export interface LifeOwner {
  readonly config: ServerConfig;
  readonly fingerprint: string;
  readonly catalog: Catalog | undefined;
  readonly notices: Notices;
  readonly offers: Offers;
  /** The server has given a list. */
  learned(catalog: Catalog): void;
  /**
   * The state has changed, or what waiting calls have to know. `life` says so. `stderrTail` is the end of standard
   * error, not scrubbed yet.
   */
  changed(life: LifeView, state: ServerState, error?: unknown, stderrTail?: string): void;
  onReleased(): void;
}
