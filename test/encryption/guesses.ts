import { createDecipheriv } from 'node:crypto';
import { bytesToHex } from '@noble/hashes/utils.js';
import { fingerprint } from '../../app/accounts/fingerprint.ts';
import { generator, prime, toBigInt } from '../../app/srp/group.ts';
import { power } from '../../app/srp/modular-power.ts';
import {
  derivePasswordKey,
  masterEnvelopeLabel,
  srpAuthLabel,
} from '../../client/login/password.ts';
import {
  computeMultiplier,
  computeVerifier,
  computeX,
  pad,
  serviceSrp,
} from '../../client/srp/srp.ts';
import { isResidue } from '../srp/residue.ts';
import type { Bytes } from '../../client/bytes/bytes.ts';

/** Everything that somebody stole: rows of Postgres and values of Redis, as text. */
export interface Stolen {
  readonly texts: readonly string[];
  /** Pairs of a server's public value B and, as it is stored, its secret exponent b. */
  readonly exchanges: readonly { readonly B: bigint; readonly b: string }[];
  /** The salt, which `login/challenge` tells anyone. */
  readonly salt: Bytes;
}

/**
 * Returns what the stolen data say about a guess of the password; for a wrong guess nothing, but
 * for chance.
 */
export async function confirmations(stolen: Stolen, password: string): Promise<string[]> {
  const { texts, salt } = stolen;
  const authKey = await derivePasswordKey(password, salt, srpAuthLabel);
  const verifier = computeVerifier(serviceSrp, computeX(serviceSrp, salt, authKey));
  const verifierHex = bytesToHex(pad(serviceSrp.group, verifier));
  const envelopeKey = await derivePasswordKey(password, salt, masterEnvelopeLabel);
  const fingerprintHex = fingerprint(bytesToHex(salt), verifierHex);
  const holds = (text: string) => texts.some((each) => each.toLowerCase().includes(text));
  const kv = computeMultiplier(serviceSrp) * verifier;
  const matches = await Promise.all(stolen.exchanges.map((each) => matchesExponent(each, kv)));
  return [
    ...(holds(verifierHex.replace(/^0+/, '')) ? ['the verifier'] : []),
    ...(holds(fingerprintHex) ? ['the fingerprint'] : []),
    ...(texts.some((text) => opensOne(text, envelopeKey)) ? ['the master envelope'] : []),
    ...(matches.includes(true) ? ['the secret exponent'] : []),
    ...(isAlwaysOneKind(stolen, kv) ? ['the kind of every B'] : []),
  ];
}

/** Returns whether a text holds 40 bytes of base64 that unwrap under the key (RFC 3394). */
function opensOne(text: string, key: Bytes): boolean {
  const wrapped = text.matchAll(/(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{54}==/g);
  return [...wrapped].some(([base64]) => {
    const decipher = createDecipheriv('id-aes256-wrap', key, Buffer.alloc(8, 0xa6));
    try {
      decipher.update(Buffer.from(base64, 'base64'));
      decipher.final();
      return true;
    } catch {
      return false;
    }
  });
}

/** Returns whether B = k·v + g^b mod N, up to the sign of g^b. */
async function matchesExponent(
  { B, b }: Stolen['exchanges'][number],
  kv: bigint,
): Promise<boolean> {
  try {
    const value = toBigInt(power(generator, Buffer.from(b, 'base64')));
    const rest = modulo(B - kv);
    return rest === value || rest === prime - value;
  } catch {
    return false;
  }
}

/**
 * Returns whether B − k·v is a quadratic residue in every exchange, or in none: for a wrong v it is
 * one in half of them.
 */
function isAlwaysOneKind({ exchanges }: Stolen, kv: bigint): boolean {
  const residues = exchanges.filter(({ B }) => isResidue(B - kv));
  return residues.length === 0 || residues.length === exchanges.length;
}

function modulo(value: bigint): bigint {
  return ((value % prime) + prime) % prime;
}
