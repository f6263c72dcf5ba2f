import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { until } from '../../../app/dev/processes/until.ts';
import type { Vault } from '../vault/vault.ts';

type Mailing = Pick<Vault, 'mailDirectory'>;

export interface Mail {
  readonly subject: string;
  readonly text: string;
  /** The token of a validation e-mail; undefined in other e-mails. */
  readonly token: string | undefined;
  readonly fingerprint: string | undefined;
}

/** Returns the e-mails sent to a recipient so far, oldest first. */
export async function mailsTo({ mailDirectory }: Mailing, email: string): Promise<Mail[]> {
  const names = (await readdir(mailDirectory)).filter((name) => name.endsWith('.eml')).sort();
  const texts = await Promise.all(
    names.map((name) => readFile(path.join(mailDirectory, name), 'utf8')),
  );
  return texts
    .filter((text) => text.includes(`To: ${email}\r\n`))
    .map((text) => ({
      text,
      subject: /^Subject: (.*)$/m.exec(text)?.[1]?.trim() ?? '',
      token: /^Token: ([0-9a-f-]{36})\r?$/m.exec(text)?.[1],
      fingerprint: /^Fingerprint: ([0-9a-f]{8})\r?$/m.exec(text)?.[1],
    }));
}

/** Resolves with the recipient's validation e-mails once there are at least `count`. */
export function validationMails(vault: Mailing, email: string, count: number): Promise<Mail[]> {
  return until(
    async () => {
      const mails = (await mailsTo(vault, email)).filter(({ token }) => token !== undefined);
      return mails.length >= count && mails;
    },
    { what: `${count} validation e-mails`, timeoutMs: 60_000 },
  );
}
