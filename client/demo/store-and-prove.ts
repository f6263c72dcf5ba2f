import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { decodeBase64 } from '../bytes/base64.ts';
import { defaultRetry } from '../http/retry.ts';
import { createNodeHash } from '../node/hash.ts';
import { keyFingerprint } from '../proofs/verify-proof.ts';
import { createVaultClient, type VaultClient } from '../vault.ts';
import { createAccount, openAccount, type OpenAccount } from './steps/account.ts';
import { DemoError } from './terminal/demo-error.ts';
import { openEvidence } from './steps/evidence.ts';
import { formatBytes } from './terminal/progress.ts';
import { verifyOriginalTwice } from './proof-folder/original.ts';
import { writeProofFolder } from './proof-folder/proof-folder.ts';
import { readBack } from './steps/read-back.ts';
import { openResumePlace, type ResumePlace } from './steps/resume-place.ts';
import type { Say } from './terminal/say.ts';
import { readSealedEntry } from './steps/sealed-entry.ts';
import { shareWithSecondAccount } from './steps/second-account.ts';
import { addSecondVersion } from './steps/second-version.ts';
import { storeEvidence } from './steps/store-evidence.ts';
import { requireOpenssl, verifyTwice } from './proof-folder/verification.ts';

export interface StoreAndProveOptions {
  readonly file: string;
  /** Directory for the proof; by default a directory below `outputs` named by the document's id. */
  readonly out: string | undefined;
  /**
   * Directory for the files of all runs. An interrupted run leaves the files that are needed to
   * resume it in the subdirectory `.resume`.
   */
  readonly outputs: string;
  readonly baseUrl: string;
  readonly mails: string;
  readonly say: Say;
}

/**
 * Runs all steps of the demo, from a new account to an audit proof that the client library and
 * OpenSSL verify. Throws DemoError on any mismatch.
 */
export async function storeAndProve(options: StoreAndProveOptions): Promise<void> {
  const { file, out, outputs, baseUrl, mails, say } = options;
  await using source = await openEvidence(file);
  if (out !== undefined) await requireEmpty(out);
  await requireOpenssl();
  const client = createVaultClient({ baseUrl, createHash: createNodeHash });
  const trustedKeys = await fetchTrustedKeys(baseUrl);
  say(`storing ${basename(file)}, ${formatBytes(source.size)}, in the vault at ${baseUrl}`);

  await using place = await openResumePlace(join(outputs, '.resume'), file);
  const account = await enter(client, place, options);
  const evidence = { name: basename(file), source, say };
  const { journal } = place;
  const document = await storeEvidence(account, { ...evidence, journal });
  const { proof, author } = await account.session.certifyDocument(document.id);
  const { timestamp } = readSealedEntry(proof.entryCanonical, document);
  say(`sealed by the HSM's key ${proof.hsmKeyId} at ${timestamp}`);
  const fingerprint = author?.fingerprint;
  say(`you stated so, by the key of your identity ${fingerprint ?? '(none)'}`);

  const stored = { ...evidence, document };
  await readBack(client, account, stored);
  const newer = await addSecondVersion(account, { ...stored, trustedKeys });
  const versions = [source, newer];
  await shareWithSecondAccount(client, account, { ...stored, versions, mails });

  const directory = out ?? join(outputs, document.id);
  const disclosed = { version: 1, includeFile: true };
  const disclosure = await account.session.disclose(document.id, disclosed);
  await writeProofFolder(disclosure, document.encryptedMetadata, directory);
  say(`the vault's audit keys, by fingerprint: ${trustedKeys.join(', ')}`);
  await verifyTwice(directory, trustedKeys, say);
  const known = { trustedKeys, fingerprint };
  await verifyOriginalTwice(directory, { path: file, source }, { ...known, say });
  await place.forgetAccount();
  say(`the proof is in ${directory}; its README.txt says what it proves and what it does not`);
}

async function requireEmpty(directory: string): Promise<void> {
  const names = await readdir(directory).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return [];
    throw new DemoError(`${directory} is no folder`, { cause });
  });
  if (names.length > 0) throw new DemoError(`${directory} is not empty`);
}

/**
 * Fetches the vault's audit keys and resolves with their fingerprints. Makes only three attempts,
 * so that an unreachable vault is reported soon.
 */
async function fetchTrustedKeys(baseUrl: string): Promise<string[]> {
  const impatient = createVaultClient({ baseUrl, retry: { ...defaultRetry, attempts: 3 } });
  const keys = await impatient.auditKeys();
  return keys
    .filter(({ purpose }) => purpose === 'audit')
    .map(({ publicKey }) => keyFingerprint(decodeBase64(publicKey)));
}

/**
 * Opens the account of an interrupted run. Creates an account if there is none, or if the vault no
 * longer has it.
 */
async function enter(
  client: VaultClient,
  place: ResumePlace,
  { mails, say }: StoreAndProveOptions,
): Promise<OpenAccount> {
  const saved = await place.loadAccount();
  const reopened = saved === undefined ? undefined : await openAccount(client, saved);
  if (reopened !== undefined) {
    say(`resuming the interrupted run as ${reopened.credentials.email}`);
    return reopened;
  }
  if (saved !== undefined) say('the vault has forgotten the account of the interrupted run');
  const account = await createAccount(client, mails, say);
  await place.saveAccount(account.credentials);
  return account;
}
