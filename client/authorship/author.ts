import { hasCode } from '../errors/vault-error.ts';
import type { Identities } from '../identity/identities.ts';
import { fingerprintOf } from '../identity/identity.ts';
import type { ReadNames } from '../identity/account-names.ts';
import { signStatement, type SignedStatement, type StatedAct } from './statement.ts';

/** The user of a session as the author of what is done in it. */
export interface Author {
  /** States an act, by the present identity. Throws what `Identities.open` throws. */
  state(act: StatedAct): Promise<SignedStatement>;
  /**
   * Resolves with whether a fingerprint is that of the user's identity, or of one that a rekey
   * replaced. Throws what `Identities.openAll` throws.
   */
  isOwn(fingerprint: string): Promise<boolean>;
}

export function createAuthor({
  identities,
  readNames,
  now,
}: {
  readonly identities: Pick<Identities, 'open' | 'openAll'>;
  readonly readNames: ReadNames;
  readonly now: () => Date;
}): Author {
  /** The fingerprint of the identity that stated something last. */
  let present: string | undefined;

  return {
    async state(act) {
      const identity = await identities.open();
      present = fingerprintOf(identity);
      return signStatement(identity, await readNames(), act, now());
    },

    async isOwn(fingerprint) {
      if (fingerprint === present) return true;
      return (await identities.openAll()).map(fingerprintOf).includes(fingerprint);
    },
  };
}

/**
 * Does something with a document as it is, and once more if the vault refuses the statement because
 * another client changed the document meanwhile. Throws VaultError 400 statement_invalid if the
 * statement is refused for another reason, such as a wrong clock.
 * @param first the document, if it is open already
 */
export async function withPresent<Opened extends { readonly etag: string }, Result>(
  open: () => Promise<Opened>,
  act: (opened: Opened) => Promise<Result>,
  first?: Opened,
): Promise<Result> {
  const opened = first ?? (await open());
  try {
    return await act(opened);
  } catch (error) {
    if (!hasCode(error, 'statement_invalid')) throw error;
    const present = await open();
    if (present.etag === opened.etag) throw error;
    return act(present);
  }
}
