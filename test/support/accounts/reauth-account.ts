import { bytesToHex } from '@noble/hashes/utils.js';
import { decodeJwt } from 'jose';
import { derivePasswordKey, srpAuthLabel } from '../../../client/login/password.ts';
import { computeVerifier, computeX, pad, serviceSrp } from '../../../client/srp/srp.ts';
import { validationMails } from './mails.ts';
import {
  beginLogin,
  inventAccount,
  logIn,
  register,
  validate,
  type TestAccount,
} from './test-account.ts';
import { postJson, type JsonAnswer } from '../http/send.ts';
import { createSql } from '../vault/sql.ts';
import type { Vault } from '../vault/vault.ts';

/** A logged-in user with a known password, which other test accounts do not have. */
export interface PasswordUser extends TestAccount {
  readonly password: string;
  readonly userId: string;
  readonly token: string;
}

export async function createPasswordUser(vault: Vault, password: string): Promise<PasswordUser> {
  const invented = inventAccount();
  const authKey = await derivePasswordKey(password, invented.salt, srpAuthLabel);
  const verifier = computeVerifier(serviceSrp, computeX(serviceSrp, invented.salt, authKey));
  const verifierHex = bytesToHex(pad(serviceSrp.group, verifier));
  const account = { ...invented, authKey, verifierHex };
  await register(vault, account);
  const [mail] = await validationMails(vault, account.email, 1);
  await validate(vault, mail?.token ?? '');
  const token = await logIn(vault, account);
  return { ...account, password, token, userId: decodeJwt(token).sub ?? '' };
}

export function reauth(
  { baseUrl }: Vault,
  token: string,
  body: object,
  path = '/v1/auth/reauth',
): Promise<JsonAnswer> {
  return postJson(`${baseUrl}${path}`, body, token);
}

/** Returns a login proof over a fresh challenge, which shows that the caller owns the account. */
export async function freshProof(vault: Vault, account: TestAccount) {
  const { sessionId, A, M1 } = await beginLogin(vault, account);
  return { sessionId, A, M1 };
}

/** Returns a reauthentication token obtained with a login proof (SRP). */
export async function reauthToken(
  vault: Vault,
  account: TestAccount,
  token: string,
): Promise<string> {
  const answer = await reauth(vault, token, await freshProof(vault, account));
  if (answer.status !== 200) throw new Error(`the reauthentication got ${answer.status}`);
  return (answer.body as { readonly reauthToken: string }).reauthToken;
}

/** Returns the header of a reauthentication token, without the cost of a login proof. */
export async function proofHeader(
  { tokens }: Vault,
  caller: { readonly userId: string },
): Promise<{ 'X-Reauth-Token': string }> {
  return { 'X-Reauth-Token': await tokens.reauth(caller) };
}

/** Moves the start of a user's login sessions five minutes into the past: none is a proof then. */
export async function makeLoginsOld(vault: Vault, userId: string): Promise<void> {
  const aged = "update login_sessions set created_at = created_at - interval '5 minutes'";
  await createSql(vault)(`${aged} where user_id = $1`, [userId]);
}
