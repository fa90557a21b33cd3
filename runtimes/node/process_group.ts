import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";

/** The process group that a detached child leads; the group's number is the child's pid. POSIX only. */
export class ProcessGroup {
  readonly #id: number;
  #leaderLives = true;
  #gone = false;

  constructor(leader: number) {
    this.#id = leader;
  }

  /**
   * The leader has been reaped. From now on the number of an empty group may be handed to a stranger, so a group that
   * was once seen empty is never signalled again.
   */
  leaderExited(): void {
    this.#leaderLives = false;
    this.alive();
  }

  alive(): boolean {
    if (this.#leaderLives) return true;
    if (!this.#gone) this.#gone = !hasLivingMember(this.#id);
    return !this.#gone;
  }

  signal(signal: "SIGTERM" | "SIGKILL"): void {
    if (!this.alive()) return;
    try {
      process.kill(-this.#id, signal);
    } catch {
      // ESRCH: the last member has just ended. EPERM: what is left runs under another user and is out of our reach.
    }
  }
}

function hasLivingMember(id: number): boolean {
  try {
    process.kill(-id, 0);
  } catch (error) {
    // EPERM: somebody is there, under another user.
    return (error as { code?: unknown }).code === "EPERM";
  }
  return process.platform !== "linux" || !onlyZombies(id);
}

/**
 * A signal also reaches processes that have ended and wait to be reaped. Orphans are reaped by process 1, and in many
 * containers process 1 is a program that never reaps, this host for one: without a look at their state, the group
 * would seem to live for ever.
 */
function onlyZombies(id: number): boolean {
  let zombies = 0;
  for (const name of listProcesses()) {
    const member = readState(name);
    if (member?.group !== id) continue;
    if (member.state !== "Z" && member.state !== "X") return false;
    zombies++;
  }
  return zombies > 0;
}

function listProcesses(): string[] {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return []; // no /proc here: the signal's word stands
  }
}

/** From `pid (command) state parent group ...`; the command may hold spaces and parentheses (proc(5)). */
function readState(pid: string): { state: string; group: number } | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined; // ended since it was listed
  }
  const [state = "", , group] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { state, group: Number(group) };
}
