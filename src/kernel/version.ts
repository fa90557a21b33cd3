/** The version of this package, as `--version` prints it and servers are told; a test holds it to the one in `package.json`. */
export const VERSION = "0.1.0" as const;
