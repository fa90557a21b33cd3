#!/usr/bin/env -S deno run --allow-all
import process from "node:process";
import { runCli } from "../node/cli.ts";
import { denoRuntime } from "./runtime.ts";

process.exitCode = await runCli(process.argv.slice(2), denoRuntime());
