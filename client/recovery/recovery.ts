import { z } from 'zod';
import type { AccountDependencies } from '../accounts/change-password.ts';
import { createCredential } from '../accounts/credential.ts';
import { reauthenticate } from '../accounts/reauth.ts';
import { decodeBase64 } from '../bytes/base64.ts';
import { equalBytes, wipe } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { WrappedKey } from '../crypto/key.ts';
import type { Http } from '../http/http.ts';
import { unwrapMasterKey } from '../keys/master-key-wrap.ts';
import { generationOf, listMasterKeys, presentKeyOf } from '../keys/master-keys.ts';
import { storeEnvelope } from '../keys/store-envelope.ts';
import { recoveryWords } from '../login/login-method.ts';
import { findSalt } from '../login/login-proof.ts';
import { derivePasswordKey } from '../login/password.ts';
import { hasCode, VaultError } from '../errors/vault-error.ts';
import { compareRecoveryWords, createRecoveryWords, parseRecoveryWords } from './recovery-words.ts';

export const recoveryPath = '/v1/crypto/keys/recovery-envelope';

/** The response with the master key wrapped under the recovery words. */
export const RecoveryEnvelope = z.object({
  encryptedEnvelope: WrappedKey,
  version: z.int(),
  keyring: z.string().nullable(),
});
type RecoveryEnvelope = z.output<typeof RecoveryEnvelope>;

/** New recovery words, which do not open the account until they are confirmed. */
export interface RecoveryDraft {
  /** 24 words for the user to write down on paper. */
  readonly words: string;
  /**
   * Compares `words` with the words that the user typed from paper, and then makes them the
   * recovery words of the account. Earlier recovery words stop working. Throws RecoveryWordsError
   * before anything is sent, recovery_changed if another client changed the words at the same time,
   * and what `reauthenticate` throws.
   */
  confirm(rehearsed: { readonly words: string; readonly password: string }): Promise<void>;
}

export interface Recovery {
  /** Creates new recovery words; nothing is sent until they are confirmed. */
  draft(): RecoveryDraft;
  /**
   * Resolves with whether these words open the present master key, and so could recover the
   * account. Throws RecoveryWordsError for words that cannot be recovery words, and VaultError 404
   * not_found if the account has no recovery words.
   */
  check(words: string): Promise<boolean>;
}

export function createRecovery(dependencies: AccountDependencies): Recovery {
  const { http, envelopes, email } = dependencies;
  const load = () => http.json(RecoveryEnvelope, { method: 'GET', path: recoveryPath });

  async function store(words: string, password: string): Promise<void> {
    const { reauthToken } = await reauthenticate(dependencies, { email, password });
    // The version of the envelope is read before the master key, so that a rekey between the two
    // requests makes the update fail.
    const version = await findVersion(load);
    const keys = await envelopes.openMasterKeys();
    const credential = await createCredential(recoveryWords, words, presentKeyOf(keys));
    const { encryptedEnvelope, salt, verifier, envelopeKey } = credential;
    wipe(envelopeKey, ...listMasterKeys(keys));
    const json = { encryptedEnvelope, recoverySalt: salt, recoveryVerifier: verifier };
    try {
      await send(http, json, { version, reauthToken });
    } catch (cause) {
      if (!(cause instanceof VaultError) || !conflicts.has(cause.code)) throw cause;
      // The vault may have accepted an earlier attempt whose response was lost.
      if ((await load()).encryptedEnvelope === encryptedEnvelope) return;
      throw new ClientError('recovery_changed', { cause });
    }
  }

  return {
    draft() {
      const words = createRecoveryWords();
      return {
        words,
        async confirm(rehearsed) {
          compareRecoveryWords(words, rehearsed.words);
          await store(words, rehearsed.password);
        },
      };
    },

    async check(words) {
      const phrase = parseRecoveryWords(words);
      const { encryptedEnvelope } = await load();
      const salt = await findSalt(http, { email, method: recoveryWords });
      const wordsKey = await derivePasswordKey(phrase, salt, recoveryWords.envelopeLabel);
      const keys = await envelopes.openMasterKeys();
      const wrapped = decodeBase64(encryptedEnvelope);
      try {
        const opened = await unwrapMasterKey(wordsKey, wrapped, generationOf(keys));
        return equalBytes(opened, keys.masterKey);
      } catch (error) {
        if (error instanceof ClientError) return false;
        throw error;
      } finally {
        wipe(wordsKey, ...listMasterKeys(keys));
      }
    },
  };
}

const conflicts: ReadonlySet<string> = new Set(['envelope_exists', 'precondition_failed']);

/** Resolves with the version of the recovery envelope; undefined if the account has none. */
async function findVersion(load: () => Promise<RecoveryEnvelope>): Promise<number | undefined> {
  try {
    return (await load()).version;
  } catch (error) {
    if (hasCode(error, 'not_found')) return undefined;
    throw error;
  }
}

/**
 * Stores the recovery envelope. `version` is the version of the envelope to replace; undefined if
 * the account has none.
 */
async function send(
  http: Http,
  json: { readonly encryptedEnvelope: string },
  { version, reauthToken }: { readonly version: number | undefined; readonly reauthToken: string },
): Promise<void> {
  const request = { path: recoveryPath, repeatable: true, json };
  const headers = { 'x-reauth-token': reauthToken };
  if (version === undefined) {
    await storeEnvelope(http, { ...request, method: 'POST', headers });
    return;
  }
  const matching = { ...headers, 'if-match': `"${version}"` };
  await storeEnvelope(http, { ...request, method: 'PUT', headers: matching });
}
