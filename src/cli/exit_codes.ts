/** How the program ends. Scripts rely on these. */
export const EXIT: {
  readonly ok: 0;
  readonly failed: 1;
  readonly usage: 2;
  readonly denied: 3;
  readonly notStarted: 4;
} = Object.freeze({ ok: 0, failed: 1, usage: 2, denied: 3, notStarted: 4 });

/** The part of `--help` that tells them. */
export const EXIT_HELP = `
Exit codes:
  0    done; also after Ctrl-C in serve and log --follow
  1    the call failed, or the command could not do its work or was interrupted
  2    the command line or the configuration is wrong
  3    the gate denied the call, or nobody was there to approve it
  4    a server could not be started
  130  a second Ctrl-C ended it at once`;
