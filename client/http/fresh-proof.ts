/**
 * The proof that the user of a session has just shown who they are, as
 * `VaultSession.reauthenticate` resolves with it. It is valid for five minutes.
 */
export interface FreshProof {
  readonly reauthToken: string;
}

/** Returns the header of a proof; no header without a proof. */
export function proofHeaders(proof: FreshProof | undefined): Record<string, string> {
  return proof === undefined ? {} : { 'x-reauth-token': proof.reauthToken };
}
