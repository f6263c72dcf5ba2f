/** The backups are of different moments, and nobody said that this is known. It was logged. */
export class StartRefused extends Error {
  override name = 'StartRefused';
}

/** EX_CONFIG: another start would be refused too. */
export const startRefusedExitCode = 78;
