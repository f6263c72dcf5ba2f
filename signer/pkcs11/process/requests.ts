import type { KeyRequest } from '../../protocol/protocol.ts';
import { SignerUnavailable, unavailableCodes } from '../../protocol/signer-error.ts';
import { recordAdoption } from '../keys/adoptions.ts';
import { createNextEncryptionKey, createNextKey, createOrFindKey } from '../keys/key-creation.ts';
import { findEncryptionKey, KeyringError, type Keyring, type SigningKey } from '../keys/keyring.ts';
import type { Session } from '../library/pkcs11.ts';
import { signInputs } from './batch-signing.ts';
import type { FromHsm, HsmRequest, Mac } from '../../ipc/messages.ts';
import { macOf } from '../token/signatures.ts';
import type { Token } from '../token/token.ts';

type WithoutId<Message> = Message extends unknown ? Omit<Message, 'id' | 'calls'> : never;
/** A response without the parts that do not depend on the request. */
type Answer = WithoutId<Extract<FromHsm, { kind: 'answer' | 'failure' }>>;

interface AnswersOptions {
  readonly token: Pick<Token, 'run' | 'refresh' | 'use' | 'renew'>;
  /** Maximum number of concurrent signatures of one request: the number of sessions. */
  readonly lanes: number;
  readonly rsaBits: number;
}

/**
 * Creates the handler of the signer's requests. The handler turns errors into `failure` messages.
 */
export function createAnswers({ token, lanes, rsaBits }: AnswersOptions) {
  /** Settles when the last requested key has been created. Keys are created one after the other. */
  let lastKey: Promise<unknown> = Promise.resolve();
  return async (request: HsmRequest): Promise<Answer> => {
    try {
      return { kind: 'answer', value: await carryOut(request) };
    } catch (error) {
      return { kind: 'failure', code: codeOf(error), message: messageOf(error) };
    }
  };

  /** Creates the next key, or the one of a generation unless it is there. */
  async function createKey({
    generation,
    ...request
  }: KeyRequest & { readonly rsaBits: number }): Promise<SigningKey | undefined> {
    return generation === undefined
      ? createNextKey(token, request)
      : createOrFindKey(token, { ...request, generation });
  }

  async function carryOut(request: HsmRequest): Promise<unknown> {
    switch (request.kind) {
      case 'sign':
        return signInputs({ token, lanes, request });
      case 'mac':
        return token.run((session, keyring) => computeMac(session, keyring, request));
      case 'refresh':
        await token.refresh();
        break;
      case 'create_key': {
        const made = lastKey.then(() => createKey({ ...request, rsaBits }));
        lastKey = made.catch(() => {});
        const key = await made;
        await token.refresh();
        return key?.keyId ?? null;
      }
      case 'adopt_key':
        await token.use((session) => recordAdoption(session, request.keyId));
        await token.refresh();
        break;
      case 'create_encryption_key': {
        const made = lastKey.then(() => createNextEncryptionKey(token, request.after));
        lastKey = made.catch(() => {});
        return made;
      }
      case 'ping':
        break;
    }
    return null;
  }
}

async function computeMac(
  session: Session,
  { mac: oldest }: Keyring,
  { purpose, label, generation }: Extract<HsmRequest, { kind: 'mac' }>,
): Promise<Mac> {
  // Without a login, a token hides its keys instead of reporting an error.
  if (purpose === 'encryption') session.probe();
  const key = purpose === 'mac' ? oldest : findEncryptionKey(session, generation);
  return { mac: await macOf(session, key, label), generation: key.generation };
}

function codeOf(error: unknown): (typeof unavailableCodes)[number] {
  if (error instanceof KeyringError) return 'key_missing';
  const code = error instanceof SignerUnavailable ? error.code : undefined;
  return unavailableCodes.find((known) => known === code) ?? 'internal_error';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
