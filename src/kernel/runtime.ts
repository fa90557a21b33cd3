/**
 * What the core needs from the place it runs in. An adapter under `runtimes/` fills this in and holds no policy; the
 * core knows no runtime. Members that a runtime cannot offer are left out, and whoever needs one says so with
 * `ERR_UNSUPPORTED_HERE`.
 */
export interface Runtime {
  /** `node`, `bun`, `deno`, `workerd` or `browser`. For display and for tests; never branch on it. */
  readonly name: string;
  /** The runtime's own version. */
  readonly version: string;
  /** Called as a plain function, never as a method: some runtimes refuse a foreign receiver. */
  readonly fetch: FetchFunction;
  /**
   * True where `content-length` together with an absent `content-encoding` bounds the decoded body, so that a small
   * body may be read in one step. False in browsers, which hide `content-encoding` across origins.
   */
  readonly contentLengthIsDecoded: boolean;
  /** Most bytes that all messages together should take while they are read. Absent where memory is plenty: 64 MiB then. */
  readonly maxFrameBytes?: number;
  /** Starts a child process. Absent on the edge and in browsers. */
  readonly spawn?: SpawnFunction;
  /** Absent where there is no disk. */
  readonly files?: FileSystem;
  /** SHA-256 in steps. Absent: the core hashes whole values with `crypto.subtle`. */
  readonly sha256?: () => Digest;
  /** A copy of the process's environment variables; empty where there are none. */
  environment(): Record<string, string>;
}

/** The shape of the global `fetch`. */
export type FetchFunction = (input: string, init?: RequestInit) => Promise<Response>;

/** A digest that is fed in pieces and read once. */
export interface Digest {
  update(bytes: Uint8Array): void;
  /** Lower-case hex. Nothing may be fed afterwards. */
  hex(): string;
}

/** What to start. Arguments are an array and no shell is ever involved. */
export interface SpawnPlan {
  readonly command: string;
  readonly args: readonly string[];
  /** The child's whole environment; nothing is inherited beside it. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** How a child ended: exactly one of the two is set. */
export interface ExitStatus {
  readonly code: number | null;
  readonly signal: string | null;
}

/**
 * Receives what a child writes. A promise of `onData` pauses standard output until it settles. Standard error is never
 * paused, so that no slow reader can block a child that logs; its handler bounds what it keeps. A chunk belongs to the
 * handler. Handlers must not throw and their promises must not reject.
 */
export interface ProcessHandlers {
  onData(chunk: Uint8Array): void | Promise<void>;
  onErrorData(chunk: Uint8Array): void | Promise<void>;
  /** Standard output has ended; called at most once, perhaps after `onExit`, perhaps never when a grandchild holds it. */
  onEnd(): void;
  /** A write has failed though the child lives: it has closed its input. Called at most once. */
  onInputClosed?(): void;
  /** The direct child has ended. Called exactly once, without waiting for its pipes to close. */
  onExit(status: ExitStatus): void;
}

/**
 * Starts a child as the leader of a process group of its own. Rejects with the system's error (`code: "ENOENT"`) when
 * it cannot be started; no handler is called then.
 */
export type SpawnFunction = (plan: SpawnPlan, handlers: ProcessHandlers) => Promise<ChildProcess>;

/** A running child. No method throws or rejects because the child is gone; a write to a dead child is dropped. */
export interface ChildProcess {
  readonly pid: number;
  /** What `kill` reaches: the whole group, or the child alone. */
  readonly containment: "process_group" | "none";
  /** Writes UTF-8 text to standard input. A promise resolves when the operating system has taken it, or never will. */
  write(text: string): void | Promise<void>;
  /** Closes standard input once what was written is out. */
  closeInput(): void;
  /** Sends a signal to the child and its group; also works on what is left of the group after the child has gone. */
  kill(signal: "SIGTERM" | "SIGKILL"): void;
  /** True while any process of the group lives. */
  groupAlive(): boolean;
  /** Lets go of the pipes, so that a grandchild which holds them cannot keep this process alive. */
  release(): void;
}

/**
 * Files as the core uses them. Paths are strings as the user gave them. Every method rejects with the system's error
 * and its `code` (`ENOENT`, `EEXIST`, `ENOSPC`). Not found is never silently ignored.
 */
export interface FileSystem {
  /** Creates a directory and its parents; existing ones are fine. */
  makeDirectory(path: string, options?: { readonly mode?: number }): Promise<void>;
  /** Names in a directory, unsorted, without `.` and `..`. */
  list(path: string): Promise<string[]>;
  readText(path: string): Promise<string>;
  /** `create` fails with `EEXIST` when the file exists; `mode` applies to new files. Every handle can also read. */
  open(path: string, mode: "read" | "append" | "create", options?: { readonly mode?: number }): Promise<FileHandle>;
  /** Replaces `to` in one step. */
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Makes creations and renames inside a directory durable; does nothing where a directory cannot be synced. */
  syncDirectory(path: string): Promise<void>;
  /** Joins with the platform's separator; no other normalisation. */
  join(...parts: string[]): string;
}

/** An open file. One caller at a time; offsets are bytes. */
export interface FileHandle {
  /** Reads up to `length` bytes at `offset`; fewer at the end of the file, none past it. */
  read(offset: number, length: number): Promise<Uint8Array>;
  /** Writes at the end; may write fewer bytes than given and then returns how many. */
  write(bytes: Uint8Array): Promise<number>;
  truncate(length: number): Promise<void>;
  /** Resolves once the data is on the device. */
  sync(): Promise<void>;
  size(): Promise<number>;
  close(): Promise<void>;
}
