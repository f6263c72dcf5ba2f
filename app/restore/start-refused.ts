/**
 * Thrown and logged if database, HSM token and object store are backups of different moments and
 * the operator has not accepted the losses.
 */
export class StartRefused extends Error {
  override name = 'StartRefused';
}

/**
 * The exit code of a refused start: EX_CONFIG of sysexits.h, since another start would be refused
 * too.
 */
export const startRefusedExitCode = 78;
