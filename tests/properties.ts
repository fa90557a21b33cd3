import fc from "fast-check";

/**
 * Property tests draw the same values on every run, so that a run fails for what was changed and for nothing else.
 * `PORTCULLIS_SEED=random` draws new ones, to hunt for faults; a number repeats the run that printed it.
 */
const { PORTCULLIS_SEED = "20261130" } = process.env;
if (PORTCULLIS_SEED !== "random") fc.configureGlobal({ seed: Number(PORTCULLIS_SEED) });
