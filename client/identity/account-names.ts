/** The names by which entries, statements and identities name the user and the vault. */
export interface AccountNames {
  /** Id of the user. */
  readonly owner: string;
  /** The vault, by its public URL. */
  readonly issuer: string;
}

/**
 * Reads the names once, and resolves with them from then on. Throws account_mismatch if the vault
 * shows other names than it has shown before.
 */
export type ReadNames = () => Promise<AccountNames>;
