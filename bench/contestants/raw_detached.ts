/**
 * The floor with the server in a session of its own, as ours starts it in order to end whole trees. Linux schedules such
 * a session as a group apart (`sched_autogroup_enabled`), which delays the answers on a busy machine, not on a quiet one.
 */
import type { Caller, Target } from "../contestant.ts";
import { openRaw } from "./raw.ts";

export function open(target: Target): Promise<Caller> {
  return openRaw(target, true);
}
