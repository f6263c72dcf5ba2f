import { randomBytes, randomUUID } from 'node:crypto';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { startSrpLogin } from '../../../client/srp/login.ts';
import { computeVerifier, computeX, pad, serviceSrp } from '../../../client/srp/srp.ts';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import type { Vault } from '../vault/vault.ts';
import { postJson } from '../http/send.ts';
import { validationMails } from './mails.ts';

/**
 * The secrets that only the client of an account knows, and their public values in the wire format.
 */
export interface TestAccount {
  readonly email: string;
  readonly salt: Bytes;
  /** K_auth: any 32 bytes, since the service never sees the password they are derived from. */
  readonly authKey: Bytes;
  readonly saltHex: string;
  readonly verifierHex: string;
}

/** Returns fresh credentials, by default for a new e-mail address. No vault knows them yet. */
export function inventAccount(email = `${randomUUID()}@example.org`): TestAccount {
  const salt = new Uint8Array(randomBytes(32));
  const authKey = new Uint8Array(randomBytes(32));
  const verifier = computeVerifier(serviceSrp, computeX(serviceSrp, salt, authKey));
  return {
    email,
    salt,
    authKey,
    saltHex: bytesToHex(salt),
    verifierHex: bytesToHex(pad(serviceSrp.group, verifier)),
  };
}

export function register({ baseUrl }: Pick<Vault, 'baseUrl'>, account: TestAccount) {
  return postJson(`${baseUrl}/v1/auth/register`, {
    email: account.email,
    salt: account.saltHex,
    verifier: account.verifierHex,
  });
}

export function validate({ baseUrl }: Vault, token: string) {
  return postJson(`${baseUrl}/v1/auth/validate-email`, { token });
}

/** Creates an account that is registered and validated. */
export async function createAccount(vault: Vault, email?: string): Promise<TestAccount> {
  const account = inventAccount(email);
  await register(vault, account);
  const [mail] = await validationMails(vault, account.email, 1);
  await validate(vault, mail?.token ?? '');
  return account;
}

/** Sends the first step of a login, and returns the login proof for the second step. */
export async function beginLogin({ baseUrl }: Vault, account: TestAccount) {
  const srp = startSrpLogin();
  const challenge = await postJson(`${baseUrl}/v1/auth/login/challenge`, {
    email: account.email,
    A: srp.A,
  });
  if (challenge.status !== 200) {
    throw new Error(`the challenge got ${challenge.status}: ${JSON.stringify(challenge.body)}`);
  }
  const { sessionId, salt, B } = challenge.body as Record<'sessionId' | 'salt' | 'B', string>;
  const proof = srp.prove({ salt: hexToBytes(salt), B, authKey: account.authKey });
  return { sessionId, A: srp.A, B, M1: proof.M1, proof, challenge };
}

/** Logs in and resolves with the access token. */
export async function logIn(vault: Vault, account: TestAccount): Promise<string> {
  return (await openSession(vault, account)).accessToken;
}

/** Logs in and resolves with the tokens of the new login session. */
export async function openSession(
  vault: Vault,
  account: TestAccount,
): Promise<{ readonly accessToken: string; readonly refreshToken: string }> {
  const { sessionId, A, M1 } = await beginLogin(vault, account);
  const { status, body } = await postJson(`${vault.baseUrl}/v1/auth/login/verify`, {
    sessionId,
    A,
    M1,
  });
  if (status !== 200) throw new Error(`the login got ${status}`);
  return body as { readonly accessToken: string; readonly refreshToken: string };
}
