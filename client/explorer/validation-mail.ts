import { z } from 'zod';

const ValidationMail = z.object({ token: z.string(), fingerprint: z.string() });
type ValidationMail = z.output<typeof ValidationMail>;

const waitMs = 20_000;
const pollMs = 300;

/**
 * Waits for the validation e-mail with this fingerprint. Resolves with undefined if it does not
 * arrive, or if the vault sends e-mails in place of writing them as files.
 */
export async function awaitMail(
  email: string,
  fingerprint: string,
): Promise<ValidationMail | undefined> {
  const end = performance.now() + waitMs;
  while (performance.now() < end) {
    const response = await fetch('docs/validation-mail', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email }),
    });
    if (!response.ok) return undefined;
    const newest = response.status === 204 ? undefined : await response.json();
    const mail = ValidationMail.optional().parse(newest);
    if (mail?.fingerprint === fingerprint) return mail;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  return undefined;
}
