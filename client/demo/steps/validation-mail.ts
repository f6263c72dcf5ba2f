import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { DemoError } from '../terminal/demo-error.ts';

const waitSeconds = 30;
const pollMs = 100;

export interface ValidationMail {
  readonly token: string;
  /** Fingerprint that the vault shows in the mail, 8 hex digits. */
  readonly fingerprint: string;
}

export type Mailbox = Awaited<ReturnType<typeof openMailbox>>;

/** Watches a directory for mails that arrive from now on. */
export async function openMailbox(directory: string) {
  const seen = new Set(await listMails(directory));

  async function takeNew(email: string): Promise<ValidationMail | undefined> {
    for (const name of await listMails(directory)) {
      if (seen.has(name)) continue;
      seen.add(name);
      const mail = parseMail(await readFile(join(directory, name), 'utf8'), email);
      if (mail !== undefined) return mail;
    }
    return undefined;
  }

  return {
    /** Waits for the validation mail to `email`. Throws DemoError if none arrives in 30 seconds. */
    async receive(email: string): Promise<ValidationMail> {
      const deadline = performance.now() + waitSeconds * 1000;
      while (performance.now() < deadline) {
        const mail = await takeNew(email);
        if (mail !== undefined) return mail;
        await setTimeout(pollMs);
      }
      throw new DemoError(
        `no mail arrived in ${directory} within ${waitSeconds} s: ` +
          'set PROBATIO_MAIL to the folder that npm start shows under E-mails',
      );
    },
  };
}

async function listMails(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).filter((name) => name.endsWith('.eml'));
  } catch (cause) {
    throw new DemoError(
      `cannot read e-mails in ${directory}: ` +
        'set PROBATIO_MAIL to the folder that npm start shows under E-mails',
      { cause },
    );
  }
}

function parseMail(text: string, email: string): ValidationMail | undefined {
  const find = (pattern: RegExp) => pattern.exec(text)?.[1];
  if (find(/^To: (.*?)\r?$/m) !== email) return undefined;
  const token = find(/^Token: ([0-9a-f-]{36})\r?$/m);
  const fingerprint = find(/^Fingerprint: ([0-9a-f]{8})\r?$/m);
  return token === undefined || fingerprint === undefined ? undefined : { token, fingerprint };
}
