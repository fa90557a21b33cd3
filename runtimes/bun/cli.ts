#!/usr/bin/env bun
import process from "node:process";
import { runCli } from "../node/cli.ts";
import { bunRuntime } from "./runtime.ts";

process.exitCode = await runCli(process.argv.slice(2), bunRuntime());
