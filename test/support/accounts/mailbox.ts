import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '../../../app/dev/processes/until.ts';

export interface ValidationMail {
  readonly to: string;
  readonly token: string;
  /** The fingerprint as 8 hex digits. */
  readonly fingerprint: string;
}

/** Returns all validation e-mails delivered so far. */
export async function readMails(directory: string): Promise<ValidationMail[]> {
  const names = await readdir(directory);
  const texts = await Promise.all(
    names
      .filter((name) => name.endsWith('.eml'))
      .map((name) => readFile(join(directory, name), 'utf8')),
  );
  const field = (text: string, name: string) =>
    new RegExp(`^${name}: (\\S+)`, 'm').exec(text)?.[1] ?? '';
  return texts.map((text) => ({
    to: field(text, 'To'),
    token: field(text, 'Token'),
    fingerprint: field(text, 'Fingerprint'),
  }));
}

/** Waits for the e-mail to this recipient. */
export function untilMail(directory: string, to: string): Promise<ValidationMail> {
  return until(async () => (await readMails(directory)).find((mail) => mail.to === to), {
    what: `an e-mail to ${to}`,
    timeoutMs: 60_000,
    intervalMs: 50,
  });
}
