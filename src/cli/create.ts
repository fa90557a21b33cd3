import { oauth } from "../auth/oauth/host_part.ts";
import { createHost } from "../host.ts";
import type { OpenHost } from "./host_port.ts";

/** Opens the real host. Nobody is asked to log in: a server that wants a person's consent says so. */
export const openHost: OpenHost = (options) => createHost({ ...options, auth: [oauth()] });
