/**
 * Thrown, and logged in one line that names the remedy, if the vault must not run as it is set up:
 * a database login that is not isolated, or backends that are backups of different moments.
 */
export class StartRefused extends Error {
  override name = 'StartRefused';
}
