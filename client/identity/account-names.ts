import { z } from 'zod';

/** The names by which entries, statements and identities name the user and the vault. */
export const AccountNames = z.object({
  /** Id of the user. */
  owner: z.string(),
  /** The vault, by its public URL. */
  issuer: z.string(),
});
export type AccountNames = Readonly<z.output<typeof AccountNames>>;

/**
 * Reads the names once, and resolves with them from then on. Throws account_mismatch if the vault
 * shows other names than it has shown before.
 */
export type ReadNames = () => Promise<AccountNames>;
