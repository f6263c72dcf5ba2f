import { randomBytes, randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import { beginLogin, createAccount, openSession, type TestAccount } from './test-account.ts';
import { reauthToken } from './reauth-account.ts';
import { postJson, send, type JsonAnswer, type SendOptions } from '../http/send.ts';
import type { Vault } from '../vault/vault.ts';

const keys = '/v1/crypto/keys';

/** A user with an account and a login session. */
export interface Owner {
  readonly account: TestAccount;
  readonly userId: string;
  readonly token: string;
  readonly refreshToken: string;
}

export async function createOwner(vault: Vault): Promise<Owner> {
  return logInAgain(vault, await createAccount(vault));
}

export async function logInAgain(vault: Vault, account: TestAccount): Promise<Owner> {
  const { accessToken: token, refreshToken } = await openSession(vault, account);
  return { account, userId: decodeJwt(token).sub ?? '', token, refreshToken };
}

/** Sends a request to a path below that of keys. */
export function ask(
  { baseUrl }: Pick<Vault, 'baseUrl'>,
  token: string,
  method: string,
  path: string,
  options: SendOptions = {},
): Promise<JsonAnswer> {
  return send(method, `${baseUrl}${keys}${path}`, { token, ...options });
}

/** Returns an envelope in the format of clients, without a key in it. */
export function anyEnvelope(): string {
  return randomBytes(40).toString('base64');
}

/** Registers a device and resolves with its id. */
export async function createDevice(
  vault: Pick<Vault, 'baseUrl'>,
  token: string,
  deviceId: string = randomUUID(),
): Promise<string> {
  const json = { deviceId, encryptedEnvelope: anyEnvelope() };
  const { status, text } = await ask(vault, token, 'POST', '/device-envelope', { json });
  if (status !== 201) throw new Error(`the device got ${status}: ${text}`);
  return deviceId;
}

export async function createMaster(vault: Vault, token: string): Promise<string> {
  const json = { encryptedEnvelope: anyEnvelope() };
  const { status, text } = await ask(vault, token, 'POST', '/master-envelope', { json });
  if (status !== 201) throw new Error(`the envelope got ${status}: ${text}`);
  return json.encryptedEnvelope;
}

/** Logs in at a device: sends the second step of a login with a device id. */
export async function logInAt(
  vault: Vault,
  account: TestAccount,
  deviceId: string,
): Promise<JsonAnswer> {
  const { sessionId, A, M1 } = await beginLogin(vault, account);
  const proof = { sessionId, A, M1, deviceId };
  return postJson(`${vault.baseUrl}/v1/auth/login/verify`, proof);
}

export async function reauthHeader(vault: Vault, { account, token }: Owner) {
  return { 'X-Reauth-Token': await reauthToken(vault, account, token) };
}

/**
 * Resolves with the code of the error by which synchronisation refuses a device; undefined if it
 * accepts the device.
 */
export async function guardCode(
  { baseUrl }: Vault,
  token: string,
  deviceId: string | undefined,
): Promise<string | undefined> {
  const headers: Record<string, string> = deviceId === undefined ? {} : { 'X-Device-Id': deviceId };
  const { body } = await send('GET', `${baseUrl}/v1/sync`, { token, headers });
  return (body as { readonly code?: string }).code;
}
