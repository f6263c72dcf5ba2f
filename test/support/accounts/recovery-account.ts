import { hexToBytes } from '@noble/hashes/utils.js';
import { startSrpLogin } from '../../../client/srp/login.ts';
import { inventAccount, type TestAccount } from './test-account.ts';
import { anyEnvelope, ask, createMaster, createOwner, reauthHeader, type Owner } from './owner.ts';
import { postJson, type JsonAnswer } from '../http/send.ts';
import type { TestVault } from '../vault/vault.ts';

/** Someone with a recovery envelope and words that log in. */
export interface Recoverable extends Owner {
  /** Salt and key that come of the words; the address says nothing. */
  readonly words: TestAccount;
  readonly masterEnvelope: string;
  readonly encryptedEnvelope: string;
}

export async function createRecoverable(vault: TestVault): Promise<Recoverable> {
  const owner = await createOwner(vault);
  const masterEnvelope = await createMaster(vault, owner.token);
  const words = inventAccount();
  const encryptedEnvelope = anyEnvelope();
  const json = { encryptedEnvelope, ...recoveryFields(words) };
  const headers = await reauthHeader(vault, owner);
  const recovery = { json, headers };
  const { status, text } = await ask(vault, owner.token, 'POST', '/recovery-envelope', recovery);
  if (status !== 201) throw new Error(`the recovery envelope was answered ${status}: ${text}`);
  return { ...owner, words, masterEnvelope, encryptedEnvelope };
}

export function recoveryFields({ saltHex, verifierHex }: TestAccount) {
  return { recoverySalt: saltHex, recoveryVerifier: verifierHex };
}

/** A recovery login's first step, and the proof for its second. */
export async function beginRecovery(
  { baseUrl }: TestVault,
  email: string,
  words: TestAccount,
  path = '/v1/auth/login/challenge',
) {
  const srp = startSrpLogin();
  const json = { email, A: srp.A, method: 'recovery' };
  const challenge = await postJson(`${baseUrl}${path}`, json);
  if (challenge.status !== 200) return { challenge, sessionId: '', A: srp.A, M1: '' };
  const { sessionId, salt, B } = challenge.body as Record<'sessionId' | 'salt' | 'B', string>;
  const { M1 } = srp.prove({ salt: hexToBytes(salt), B, authKey: words.authKey });
  return { challenge, sessionId, A: srp.A, M1 };
}

/** @param path of the second step; the first is beside it. */
export async function recover(
  vault: TestVault,
  email: string,
  words: TestAccount,
  path = '/v1/auth/login/verify',
): Promise<JsonAnswer> {
  const first = path.replace('/verify', '/challenge');
  const { sessionId, A, M1 } = await beginRecovery(vault, email, words, first);
  return postJson(`${vault.baseUrl}${path}`, { sessionId, A, M1 });
}

/** A token of a login by the words. */
export async function recoveryToken(
  vault: TestVault,
  { account, words }: Recoverable,
): Promise<string> {
  const { status, body } = await recover(vault, account.email, words);
  if (status !== 200) throw new Error(`the recovery login was answered ${status}`);
  return (body as { accessToken: string }).accessToken;
}
