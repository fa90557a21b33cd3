/** The example server over HTTP while it runs. */
export interface EverythingHttp {
  readonly url: string;
  /** Ends it and waits until it has gone. */
  close(): Promise<void>;
}

/** Starts the server on a free port of 127.0.0.1. */
export function startEverythingHttp(): Promise<EverythingHttp>;
