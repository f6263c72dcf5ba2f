/** A second factor of a user as the identity provider lists it, without any part of its secret. */
export interface TotpFactor {
  readonly id: string;
  readonly createdAt: Date;
}

/** A set of recovery codes. */
export interface RecoveryCodesFactor {
  readonly id: string;
  /** How many of the codes were not used yet. */
  readonly remaining: number;
}

export interface SecondFactors {
  readonly totps: readonly TotpFactor[];
  readonly recoveryCodes: readonly RecoveryCodesFactor[];
}

/** Second factors to write. Their ids are chosen by the caller. */
export interface NewFactors {
  readonly totp?: {
    readonly id: string;
    readonly label: string;
    /** 20 bytes; codes are of RFC 6238 with SHA-1, 6 digits and 30 seconds. */
    readonly secret: Buffer;
  };
  readonly recoveryCodes: {
    readonly id: string;
    /** The codes in the order in which they are used, without dashes. */
    readonly codes: readonly string[];
  };
}

/**
 * The identity provider that keeps the second factors of users and asks for them at its logins.
 *
 * A subject is the provider's id of a user, the `sub` of its tokens. Every method stops once
 * `deadline` aborts, and throws identity_provider_unavailable if the provider cannot be reached or
 * does not do what it is asked. A method that writes may then have had its effect, also later. All
 * writes can be repeated. Writes for one user MUST NOT run at the same time.
 */
export interface IdentityProvider {
  /** The `iss` of the provider's own tokens. */
  readonly issuer: string;
  /** Finds the second factors of a user; undefined if there is no such user. */
  findFactors(subject: string, deadline: AbortSignal): Promise<SecondFactors | undefined>;
  /**
   * Writes second factors in one atomic step. A TOTP with the id of an existing one changes
   * nothing; recovery codes replace those that the user has.
   */
  putFactors(subject: string, factors: NewFactors, deadline: AbortSignal): Promise<void>;
  /** Removes a second factor, if the user has it. */
  removeFactor(subject: string, id: string, deadline: AbortSignal): Promise<void>;
  /**
   * Creates a user without a password or an e-mail address. Resolves with the subject, also of such
   * a user that exists already under this name.
   */
  createUser(name: string, deadline: AbortSignal): Promise<string>;
  /** Finds the name with which a user logs in to the provider. */
  findName(subject: string, deadline: AbortSignal): Promise<string | undefined>;
  /** Finds the user with a name. */
  findSubject(name: string, deadline: AbortSignal): Promise<string | undefined>;
  /** Removes a user, if it exists. */
  removeUser(subject: string, deadline: AbortSignal): Promise<void>;
  /**
   * Resolves with whether this is the password of a user. Undefined if the provider is not set up
   * to check passwords for the vault.
   */
  readonly checkPassword:
    | ((subject: string, password: string, deadline: AbortSignal) => Promise<boolean>)
    | undefined;
}
