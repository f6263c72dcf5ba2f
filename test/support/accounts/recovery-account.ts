import { hexToBytes } from '@noble/hashes/utils.js';
import { startSrpLogin } from '../../../client/srp/login.ts';
import { inventAccount, type TestAccount } from './test-account.ts';
import { anyEnvelope, ask, createMaster, createOwner, reauthHeader, type Owner } from './owner.ts';
import { postJson, type JsonAnswer } from '../http/send.ts';
import type { Vault } from '../vault/vault.ts';

/** A user with a recovery envelope, and recovery words that log in. */
export interface Recoverable extends Owner {
  /** Salt and key derived from the words. Its e-mail address has no meaning. */
  readonly words: TestAccount;
  readonly masterEnvelope: string;
  readonly encryptedEnvelope: string;
}

export async function createRecoverable(vault: Vault): Promise<Recoverable> {
  const owner = await createOwner(vault);
  const masterEnvelope = await createMaster(vault, owner.token);
  const words = inventAccount();
  const encryptedEnvelope = anyEnvelope();
  const json = { encryptedEnvelope, ...recoveryFields(words) };
  const headers = await reauthHeader(vault, owner);
  const recovery = { json, headers };
  const { status, text } = await ask(vault, owner.token, 'POST', '/recovery-envelope', recovery);
  if (status !== 201) throw new Error(`the recovery envelope got ${status}: ${text}`);
  return { ...owner, words, masterEnvelope, encryptedEnvelope };
}

export function recoveryFields({ saltHex, verifierHex }: TestAccount) {
  return { recoverySalt: saltHex, recoveryVerifier: verifierHex };
}

/** Sends the first step of a recovery login, and returns the login proof for the second step. */
export async function beginRecovery(
  { baseUrl }: Vault,
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

/** @param path Path of the second step; that of the first is derived from it. */
export async function recover(
  vault: Vault,
  email: string,
  words: TestAccount,
  path = '/v1/auth/login/verify',
): Promise<JsonAnswer> {
  const first = path.replace('/verify', '/challenge');
  const { sessionId, A, M1 } = await beginRecovery(vault, email, words, first);
  return postJson(`${vault.baseUrl}${path}`, { sessionId, A, M1 });
}

/** Returns the access token of a recovery login. */
export async function recoveryToken(
  vault: Vault,
  { account, words }: Recoverable,
): Promise<string> {
  const { status, body } = await recover(vault, account.email, words);
  if (status !== 200) throw new Error(`the recovery login got ${status}`);
  return (body as { readonly accessToken: string }).accessToken;
}
