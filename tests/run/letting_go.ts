/**
 * A program that must end by itself though a process outside the child's group holds the child's three pipes. As
 * `letting_go.ts writing`, it also leaves a write that nobody reads. Prints the pid of that process.
 */
import process from "node:process";
import { runtimeHere } from "./adapter.ts";

const rest = process.argv[2] === "writing" ? "x".repeat(5_000_000) : "";
const { spawn, environment } = await runtimeHere();

let onPid = (_pid: string): void => {};
let onExit = (): void => {};
const pid = new Promise<string>((resolve) => onPid = resolve);
const exit = new Promise<void>((resolve) => onExit = resolve);

const script = "exec 3<&0; setsid sleep 1000 <&3 & echo $!; read -r go";
const child = await spawn!({ command: "sh", args: ["-c", script], env: environment() }, {
  onData: (chunk) => onPid(new TextDecoder().decode(chunk).trim()),
  onErrorData: () => {},
  onEnd: () => {},
  onExit: () => onExit(),
});
console.log(await pid);
const write = child.write(`go\n${rest}`);
await exit;
child.release();
await write;
