import { setTimeout } from 'node:timers/promises';
import { DemoError } from '../terminal/demo-error.ts';
import { mailAdvice, mailStoreAt } from './mail-store.ts';

const waitSeconds = 30;
const pollMs = 100;

export interface ValidationMail {
  readonly token: string;
  /** Fingerprint that the vault shows in the mail, 8 hex digits. */
  readonly fingerprint: string;
}

export type Mailbox = Awaited<ReturnType<typeof openMailbox>>;

/**
 * Watches for mails that arrive from now on.
 * @param place A folder, or the URL of a Mailpit.
 */
export async function openMailbox(place: string) {
  const store = mailStoreAt(place);
  const seen = new Set(await store.list());

  async function takeNew(email: string): Promise<ValidationMail | undefined> {
    for (const name of await store.list()) {
      if (seen.has(name)) continue;
      seen.add(name);
      const mail = parseMail(await store.read(name), email);
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
      throw new DemoError(`no mail arrived in ${place} within ${waitSeconds} s: ${mailAdvice}`);
    },
  };
}

function parseMail(text: string, email: string): ValidationMail | undefined {
  const find = (pattern: RegExp) => pattern.exec(text)?.[1];
  if (find(/^To: (.*?)\r?$/m) !== email) return undefined;
  const token = find(/^Token: ([0-9a-f-]{36})\r?$/m);
  const fingerprint = find(/^Fingerprint: ([0-9a-f]{8})\r?$/m);
  return token === undefined || fingerprint === undefined ? undefined : { token, fingerprint };
}
