import { hash } from 'node:crypto';
import type { Log } from '../log/log.ts';
import { createNextKey, createOrFindKey } from '../pkcs11/keys/key-creation.ts';
import { findSigningKeys } from '../pkcs11/keys/keyring.ts';
import { withToken, workIn, type TokenAccess } from '../pkcs11/provisioning/token-access.ts';
import type { SigningPurpose } from '../protocol/protocol.ts';
import type { Deployments } from './deployments.ts';
import { entryOf, type ReadSecret, type Secrets } from './secrets.ts';
import type { KeygenSettings } from './settings.ts';
import { packTokens, tokenEntries, unpackTokens } from './token-archive.ts';

/** The annotation of the Secret that names the Jobs whose keys it holds, by their uids. */
const jobsAnnotation = 'probatio.dev/keygen-jobs';
/** Jobs that are remembered. A pod of an older Job is not started again. */
const maxJobs = 32;
const maxConflicts = 10;

interface KeygenOptions {
  readonly settings: KeygenSettings;
  readonly purpose: SigningPurpose;
  readonly secrets: Secrets;
  readonly deployments: Deployments;
  readonly log: Log;
}

/**
 * Makes the next key of a purpose in a copy of the token, replaces the token in its Secret, and
 * restarts the pods that use it, one Deployment after the other. One Job makes one key, however
 * often its pod is started. With a generation, which must be above those of the token, it makes
 * that one unless the token holds it.
 */
export async function keygen(options: KeygenOptions): Promise<void> {
  const { settings, deployments, log } = options;
  await keepKey(options);
  for (const deployment of settings.deployments) {
    log.info({ deployment }, 'restarting the pods');
    // Another Job may have added a key meanwhile.
    const archive = entryOf(await load(options), settings.tokenSecret, tokenEntries.archive);
    await deployments.restart(deployment, hash('sha256', archive));
    log.info({ deployment }, 'every pod is ready, with the new token');
  }
}

/** Loads the Secret of the token. Throws if there is none. */
async function load({ settings: { tokenSecret }, secrets }: KeygenOptions): Promise<ReadSecret> {
  const secret = await secrets.find(tokenSecret);
  if (secret !== undefined) return secret;
  throw new Error(`there is no Secret ${tokenSecret}: restore it from a backup`);
}

/** Makes a key in a copy of the token, and keeps it in the Secret, unless that was done. */
async function keepKey(options: KeygenOptions): Promise<void> {
  const { settings, purpose, secrets, log } = options;
  const { tokenSecret, tokenDirectory, jobUid } = settings;
  for (let attempt = 1; attempt <= maxConflicts; attempt += 1) {
    const secret = await load(options);
    const jobs = (secret.annotations[jobsAnnotation] ?? '').split(',').filter((uid) => uid !== '');
    if (jobs.includes(jobUid)) {
      log.info('this Job has made its key already');
      return;
    }
    await unpackTokens(tokenDirectory, entryOf(secret, tokenSecret, tokenEntries.archive));
    const pin = entryOf(secret, tokenSecret, tokenEntries.pin).toString();
    const key = await makeKey({ ...settings, pin }, purpose, settings);
    if (key === undefined) {
      log.info({ purpose, generation: settings.generation }, 'the token holds the key already');
      return;
    }
    const archive = await packTokens(tokenDirectory);
    const annotations = { [jobsAnnotation]: [...jobs, jobUid].slice(-maxJobs).join(',') };
    const isKept = await secrets.change(tokenSecret, secret, annotations, {
      [tokenEntries.archive]: archive,
    });
    if (isKept) {
      const { generation, keyId } = key;
      log.info({ purpose, generation, keyId }, 'made a key');
      return;
    }
    log.info('somebody else changed the Secret: beginning anew');
  }
  throw new Error(`others changed the Secret ${tokenSecret} again and again: run the Job again`);
}

/** Makes a key; resolves with undefined if the token holds the generation that is asked for. */
async function makeKey(
  access: TokenAccess,
  purpose: SigningPurpose,
  { generation, rsaBits }: KeygenSettings,
) {
  if (generation === undefined)
    return createNextKey(workIn(access), { purpose, after: 0, rsaBits });
  const held = await withToken(access, findSigningKeys);
  if (held.some((key) => key.purpose === purpose && key.generation === generation))
    return undefined;
  const request = { purpose, generation, after: generation - 1, rsaBits };
  const key = await createOrFindKey(workIn(access), request);
  if (key !== undefined) return key;
  throw new Error(
    `the token has keys after ${purpose}-${generation}, which it lacks: make a later one`,
  );
}
