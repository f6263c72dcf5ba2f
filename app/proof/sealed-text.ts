import { toSealedText } from '../../signer/protocol/sealed-text.ts';

/** The text of an entry as it was appended, and the members that the signer added to it. */
export interface StoredText {
  readonly canonical: string;
  readonly sealed_at: Date;
  readonly late: boolean;
}

/**
 * Returns the text of a sealed entry that was hashed and signed. If somebody changed the stored
 * text, returns one that the hash does not fit.
 */
export function composeSealedText({ canonical, sealed_at: sealedAt, late }: StoredText): string {
  const members = { sealedAt: sealedAt.toISOString(), late };
  try {
    const entry: unknown = JSON.parse(canonical);
    return entry instanceof Object ? toSealedText(canonical, entry, members) : canonical;
  } catch {
    return canonical;
  }
}
