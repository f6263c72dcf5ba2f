import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { generator, pad, prime, primeBytes, toBigInt } from '../../../app/srp/group.ts';
import { power } from '../../../app/srp/modular-power.ts';
import { untilMail } from '../../support/accounts/mailbox.ts';
import type { VaultProcesses } from '../../support/processes/vault-processes.ts';
import { jsonMessage, type Ask } from '../harness/sender.ts';

/**
 * Logs one account in with as little work as a client can do: its secrets are small numbers, and
 * its public values are computed in advance. To the server every such login looks like any other.
 */
export interface LoginSender {
  /** Throws unless the server logs the account in and proves that it knows the verifier. */
  readonly login: (ask?: Ask) => Promise<void>;
}

interface Ephemeral {
  readonly a: bigint;
  readonly A: bigint;
}

const secretBytes = 8;
const ephemerals = 256;
const multiplier = sha3(primeBytes, pad(generator));

/** Registers an account and returns what logs it in by `ask`. */
export async function createLoginSender(vault: VaultProcesses, ask: Ask): Promise<LoginSender> {
  const send = async (by: Ask, path: string, body: object) =>
    (await by(jsonMessage('POST', `/v1/auth/${path}`, body))).body as Record<string, string>;

  const x = toBigInt(randomBytes(secretBytes));
  const verifier = powerOf(generator, x);
  const email = `${randomUUID()}@vault.test`;
  const salt = randomBytes(32).toString('hex');
  await send(ask, 'register', { email, salt, verifier: pad(verifier).toString('hex') });
  const { token } = await untilMail(vault.mailDirectory, email);
  await send(ask, 'validate-email', { token });

  const made = Array.from({ length: ephemerals }, createEphemeral);
  let next = 0;

  return {
    async login(by = ask) {
      const { a, A } = made[next++ % made.length] as Ephemeral;
      const paddedA = pad(A);
      const hexA = paddedA.toString('hex');
      const { sessionId, B = '' } = await send(by, 'login/challenge', { email, A: hexA });
      const paddedB = Buffer.from(B, 'hex');
      const scrambler = toBigInt(sha3(paddedA, paddedB));
      const blinded = (toBigInt(paddedB) - toBigInt(multiplier) * verifier) % prime;
      const base = blinded < 0n ? blinded + prime : blinded;
      const key = sha3(pad(powerOf(base, a + scrambler * x)));
      const M1 = sha3(paddedA, paddedB, key);
      const answer = await send(by, 'login/verify', { sessionId, A: hexA, M1: M1.toString('hex') });
      const expected = sha3(paddedA, M1, key).toString('hex');
      if (answer['M2'] !== expected) throw new Error('the server does not know the verifier');
    },
  };
}

function createEphemeral(): Ephemeral {
  const a = toBigInt(randomBytes(secretBytes));
  return { a, A: powerOf(generator, a) };
}

function powerOf(base: bigint, exponent: bigint): bigint {
  return toBigInt(power(base, pad(exponent)));
}

function sha3(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha3-256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}
