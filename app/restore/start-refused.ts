/** Thrown, and logged, if the backups are of different moments and the operator accepted none. */
export class StartRefused extends Error {
  override name = 'StartRefused';
}

/** EX_CONFIG of sysexits.h: another start would be refused too. */
export const startRefusedExitCode = 78;
