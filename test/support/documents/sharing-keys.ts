import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import canonicalize from 'canonicalize';
import { decodeJwt } from 'jose';
import { fingerprintOf, type PublicIdentity } from '../../../app/identities/public-identity.ts';
import type { Answer, Api } from './uploads.ts';

/** An identity as a client sends it, without the signatures that an account needs. */
export type SharingKey = ReturnType<typeof newSharingKey>;

/** The private signing keys of all identities that tests made, by the public ones. */
const signers = new Map<string, KeyObject>();

export function newSharingKey() {
  const signing = generateKeyPairSync('ed25519');
  const signingKey = bytesOf(signing);
  signers.set(signingKey, signing.privateKey);
  return {
    publicKey: bytesOf(generateKeyPairSync('x25519')),
    wrappedPrivateKey: randomBytes(40).toString('base64'),
    signingKey,
    wrappedSigningKey: randomBytes(40).toString('base64'),
  };
}

function bytesOf({ publicKey }: { readonly publicKey: KeyObject }): string {
  const { x = '' } = publicKey.export({ format: 'jwk' });
  return Buffer.from(x, 'base64url').toString('base64');
}

/** Signs a text of one kind by an identity that a test made; 64 bytes in base64. */
export function signAs(signingKey: string, label: string, text: string): string {
  const key = signers.get(signingKey);
  if (key === undefined) throw new Error('no test made this identity');
  return sign(null, Buffer.from(`${label}\0${text}`), key).toString('base64');
}

/** Returns the names of the user and the vault in an access token of the vault. */
export function namesIn(token: string): { readonly owner: string; readonly issuer: string } {
  const { sub = '', iss = '' } = decodeJwt(token);
  return { owner: sub, issuer: iss };
}

/** Returns the text that the signatures of an identity are over. */
export function publicationText(
  token: string,
  { publicKey, signingKey }: PublicIdentity,
  previous: PublicIdentity | undefined,
): string {
  const keys = { publicKey, signingKey };
  const replaced = previous === undefined ? null : fingerprintOf(previous);
  return canonicalize({ v: 1, ...namesIn(token), ...keys, previous: replaced }) ?? '';
}

/** Reads the identity that the account of a token has now. */
type ReadPresent = () => Promise<{ readonly status: number; readonly body: unknown }>;

/**
 * Returns an identity with the proof of possession that the account of a token needs in order to
 * store it in place of the present one. Other bodies, and identities whose signing key no test
 * made, are returned unchanged.
 */
export async function withPossession<Json extends object>(
  token: string,
  json: Json,
  readPresent: ReadPresent,
): Promise<Json> {
  const { status, body } = await readPresent();
  const previous = status === 200 ? (body as PublicIdentity) : undefined;
  const { publicKey, signingKey = previous?.signingKey ?? '' } = json as Partial<PublicIdentity>;
  if (publicKey === undefined || !signers.has(signingKey)) return json;
  const text = publicationText(token, { publicKey, signingKey }, previous);
  const proofOfPossession = signAs(signingKey, 'Service_Identity_Possession_v1', text);
  return { proofOfPossession, ...json };
}

const path = '/v1/crypto/keys/sharing';

/** Stores an identity with its proof of possession. */
export async function putKey(
  api: Api,
  json: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const body = await withPossession(api.token, json, () => api.send('GET', path));
  return api.send('PUT', path, { json: body, headers });
}
