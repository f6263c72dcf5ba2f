import { randomBytes } from 'node:crypto';
import type { Log } from '../log/log.ts';
import { provision } from '../pkcs11/provisioning/provision.ts';
import { createInternalKey, hashesOf, holders } from './internal-keys.ts';
import { entryOf, type Secrets } from './secrets.ts';
import type { ProvisionerSettings } from './settings.ts';
import { emptyDirectory, packTokens, tokenEntries } from './token-archive.ts';

interface BootstrapOptions {
  readonly settings: ProvisionerSettings;
  readonly secrets: Secrets;
  readonly log: Log;
}

/**
 * Makes the Secrets of a release that are missing: the token with its PINs and its first keys, the
 * internal API keys, and their hashes. Changes none that exists, and may be repeated.
 */
export async function bootstrap(options: BootstrapOptions): Promise<void> {
  const { settings, secrets, log } = options;
  const report = (secret: string, isNew: boolean) =>
    log.info({ secret }, isNew ? 'made the Secret' : 'the Secret exists, and stays as it is');

  const isThere = (await secrets.find(settings.tokenSecret)) !== undefined;
  report(settings.tokenSecret, !isThere && (await createToken(options)));
  if (settings.internalKeys === undefined) return;
  const { keysSecret, hashesSecret } = settings.internalKeys;
  const made = Object.fromEntries(holders.map((holder) => [holder, createInternalKey()]));
  report(keysSecret, await secrets.create(keysSecret, made));
  // The keys are read back, since another process may have made them.
  const kept = await secrets.find(keysSecret);
  if (kept === undefined) throw new Error(`the Secret ${keysSecret} was removed meanwhile`);
  const keys = Object.fromEntries(
    holders.map((holder) => [holder, entryOf(kept, keysSecret, holder).toString()]),
  );
  const isNew = await secrets.create(hashesSecret, { 'keys.json': hashesOf(keys) });
  report(hashesSecret, isNew);
}

/** Makes a token with its first keys, and keeps it in its Secret unless there is one by now. */
async function createToken({ settings, secrets, log }: BootstrapOptions): Promise<boolean> {
  const { tokenDirectory, tokenSecret, library, tokenLabel, rsaBits } = settings;
  const [pin, soPin] = [createPin(), createPin()];
  await emptyDirectory(tokenDirectory);
  const done = await provision({ library, tokenLabel, rsaBits, pin, soPin, after: 0 });
  for (const step of done) log.info(step);
  const archive = await packTokens(tokenDirectory);
  return secrets.create(tokenSecret, {
    [tokenEntries.pin]: pin,
    [tokenEntries.soPin]: soPin,
    [tokenEntries.archive]: archive,
  });
}

const createPin = () => randomBytes(24).toString('base64url');
