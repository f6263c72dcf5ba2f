import { SignerUnavailable, unavailableCodes } from '../../protocol/signer-error.ts';
import { createNextKey } from '../keys/key-creation.ts';
import { KeyringError, type Keyring, type SigningKey } from '../keys/keyring.ts';
import { mapInLanes } from './lanes.ts';
import type { FromHsm, HsmRequest } from '../../ipc/messages.ts';
import { macOf, signWith } from '../token/signatures.ts';
import type { Token } from '../token/token.ts';

type WithoutId<Message> = Message extends unknown ? Omit<Message, 'id'> : never;
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

  async function carryOut(request: HsmRequest): Promise<unknown> {
    switch (request.kind) {
      case 'sign':
        return mapInLanes(request.inputs, lanes, (input) =>
          token.run(
            (session, keyring) => signWith(session, loadKey(keyring, request.keyId), input),
            request.inputs.length > 1 ? 'batch' : 'single',
          ),
        );
      case 'mac':
        return token.run((session, { mac }) => macOf(session, mac, request.label));
      case 'refresh':
        await token.refresh();
        break;
      case 'create_key': {
        const { purpose, after } = request;
        const made = lastKey.then(() => createNextKey(token, { purpose, after, rsaBits }));
        lastKey = made.catch(() => {});
        const { keyId } = await made;
        await token.refresh();
        return keyId;
      }
      case 'ping':
        break;
    }
    return null;
  }
}

function loadKey({ signingKeys }: Keyring, keyId: string): SigningKey {
  const key = signingKeys.find((each) => each.keyId === keyId);
  if (key === undefined)
    throw new SignerUnavailable('key_missing', 'the token does not hold this key');
  return key;
}

function codeOf(error: unknown): (typeof unavailableCodes)[number] {
  if (error instanceof KeyringError) return 'key_missing';
  const code = error instanceof SignerUnavailable ? error.code : undefined;
  return unavailableCodes.find((known) => known === code) ?? 'internal_error';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
