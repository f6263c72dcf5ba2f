import { readdirSync } from 'node:fs';

/**
 * The names of all migrations, as the table `migrations` has them, in their order. They are derived
 * from those of the files, so that an app that migrates nothing need not load them.
 */
export const migrationNames: readonly string[] = readdirSync(
  new URL('../migrations/', import.meta.url),
)
  .toSorted()
  .map(nameOf);

/** Returns the name of the class in a file: `0002-wider-keys.ts` has Migration0002WiderKeys. */
function nameOf(file: string): string {
  const words = file.replace(/\.ts$/, '').split('-');
  return `Migration${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}`;
}
