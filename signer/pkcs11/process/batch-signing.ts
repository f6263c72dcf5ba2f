import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HsmRequest } from '../../ipc/messages.ts';
import { SignerUnavailable } from '../../protocol/signer-error.ts';
import type { Keyring, SigningKey } from '../keys/keyring.ts';
import { signWith, signWithSync } from '../token/signatures.ts';
import type { Token } from '../token/token.ts';
import { mapInLanes } from './lanes.ts';

interface Signing {
  readonly token: Pick<Token, 'run'>;
  /** Maximum number of concurrent signatures of one request. */
  readonly lanes: number;
  readonly request: Extract<HsmRequest, { kind: 'sign' }>;
}

/**
 * The longest signature of a token that signs on the main thread. To wait for another thread costs
 * about half as much as the signature of such a token.
 */
const quickMs = 0.25;
/** How many signatures the main thread makes before it reads other messages: first, and then. */
const runs = { first: 2, later: 8 };

/**
 * Signs inputs with one key. Resolves with the signatures in the order of the inputs. Signs a batch
 * on the main thread while the token is quick, and otherwise in as many sessions as there are.
 */
export async function signInputs({ token, lanes, request }: Signing): Promise<Buffer[]> {
  const { keyId, inputs } = request;
  const isBatch = inputs.length > 1;
  const signatures: Buffer[] = [];
  let isQuick = isBatch;
  while (isQuick && signatures.length < inputs.length) {
    const length = signatures.length === 0 ? runs.first : runs.later;
    const run = inputs.slice(signatures.length, signatures.length + length);
    const made = await token.run((session, keyring) => {
      const key = findKey(keyring, keyId);
      return run.map((input) => timed(() => signWithSync(session, key, input)));
    }, 'batch');
    signatures.push(...made.map(({ value }) => value));
    // A token that is slow is slow each time; one signature may have waited for the processor.
    isQuick = Math.min(...made.map(({ ms }) => ms)) <= quickMs;
    await nextTurn();
  }
  const rest = await mapInLanes(inputs.slice(signatures.length), lanes, (input) =>
    token.run(
      (session, keyring) => signWith(session, findKey(keyring, keyId), input),
      isBatch ? 'batch' : 'single',
    ),
  );
  return [...signatures, ...rest];
}

function timed<T>(work: () => T): { readonly value: T; readonly ms: number } {
  const startedAt = performance.now();
  const value = work();
  return { value, ms: performance.now() - startedAt };
}

function findKey({ signingKeys }: Keyring, keyId: string): SigningKey {
  const key = signingKeys.find((each) => each.keyId === keyId);
  if (key === undefined)
    throw new SignerUnavailable('key_missing', 'the token does not hold this key');
  return key;
}
