import { isCancel, select } from "@clack/prompts";
import type { Choose } from "./terminal.ts";

/** Lets a person choose with the arrow keys, on the process's own input and output. */
export const chooseOnTerminal: Choose = async (question, choices, signal) => {
  const answer = await select({ message: question, options: choices.map((choice) => ({ ...choice })), signal });
  return isCancel(answer) ? undefined : answer;
};
