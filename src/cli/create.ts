import { createHost } from "../host.ts";
import type { OpenHost } from "./host_port.ts";

/** Opens the real host. */
export const openHost: OpenHost = (options) => createHost(options);
