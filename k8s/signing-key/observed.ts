import type { SigningPurpose } from '../resources/purpose.ts';
import type { SigningKey } from '../resources/signing-key.ts';
import type { HeldKeys, RegistryKey } from '../vault/answers.ts';
import type { Failure, Outcome } from '../vault/failure.ts';

/** A pod of the vault, with what it says of its own token. */
export interface Replica {
  readonly name: string;
  readonly held: Outcome<HeldKeys>;
}

/** A request to the vault that a pass decides on. Both kinds may be repeated. */
export type SigningKeyAction =
  | { readonly kind: 'create'; readonly purpose: SigningPurpose; readonly generation: number }
  | { readonly kind: 'activate'; readonly keyId: string };

/** An action that this process carried out and that failed. */
export interface FailedAction {
  readonly action: SigningKeyAction;
  readonly failure: Failure;
}

/** Everything that decides about a SigningKey. */
export interface ObservedSigningKey {
  readonly now: Date;
  readonly resource: SigningKey;
  /** The name of an older resource of the same purpose, which acts instead of this one. */
  readonly elder: string | undefined;
  /** All keys of the purpose, of the registry. */
  readonly keys: Outcome<readonly RegistryKey[]>;
  /** Every pod of the vault, whether or not it answers. */
  readonly replicas: readonly Replica[];
  /** The action of the last pass, if it failed. */
  readonly failed: FailedAction | undefined;
}
