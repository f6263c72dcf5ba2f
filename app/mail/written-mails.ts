import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

/** The parts of a validation e-mail that its recipient needs. */
export interface ValidationMail {
  readonly token: string;
  /** The fingerprint as 8 hex digits. */
  readonly fingerprint: string;
}

/** The most e-mails that are searched, newest first. */
const maxSearched = 500;

/**
 * Finds the newest validation e-mail to an e-mail address among the files of a directory. Resolves
 * with undefined if there is none.
 */
export async function findValidationMail(
  directory: string,
  email: string,
): Promise<ValidationMail | undefined> {
  // The names are UUIDs of version 7, which begin with the time.
  const names = (await readdir(directory)).filter((name) => name.endsWith('.eml')).sort();
  for (const name of names.toReversed().slice(0, maxSearched)) {
    const found = parse(await readFile(path.join(directory, name), 'utf8'), email);
    if (found !== undefined) return found;
  }
  return undefined;
}

function parse(text: string, email: string): ValidationMail | undefined {
  const find = (pattern: RegExp) => pattern.exec(text)?.[1];
  if (find(/^To: (.*?)\r?$/m) !== email) return undefined;
  const token = find(/^Token: ([0-9a-f-]{36})\r?$/m);
  const fingerprint = find(/^Fingerprint: ([0-9a-f]{8})\r?$/m);
  return token === undefined || fingerprint === undefined ? undefined : { token, fingerprint };
}
