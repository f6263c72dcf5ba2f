/**
 * What makes the next attempt after an error worth while, from the mildest to the strongest:
 * another session; a new login and fresh key handles; the whole library anew. `stop` means that
 * another attempt would do harm (a real HSM locks itself after a few wrong PINs); `none` that it
 * cannot help.
 */
export type Remedy = 'replace_session' | 'login' | 'reinitialize' | 'stop' | 'none';

const returnValues: Record<Exclude<Remedy, 'reinitialize'>, readonly string[]> = {
  replace_session: [
    'CKR_SESSION_CLOSED',
    'CKR_SESSION_COUNT',
    'CKR_SESSION_HANDLE_INVALID',
    'CKR_OPERATION_ACTIVE',
    'CKR_OPERATION_NOT_INITIALIZED',
    'CKR_FUNCTION_CANCELED',
    'CKR_DEVICE_ERROR',
    'CKR_DEVICE_MEMORY',
  ],
  login: ['CKR_USER_NOT_LOGGED_IN', 'CKR_KEY_HANDLE_INVALID', 'CKR_OBJECT_HANDLE_INVALID'],
  stop: [
    'CKR_PIN_INCORRECT',
    'CKR_PIN_INVALID',
    'CKR_PIN_LEN_RANGE',
    'CKR_PIN_EXPIRED',
    'CKR_PIN_LOCKED',
  ],
  none: [
    'CKR_ARGUMENTS_BAD',
    'CKR_DATA_INVALID',
    'CKR_DATA_LEN_RANGE',
    'CKR_KEY_FUNCTION_NOT_PERMITTED',
    'CKR_KEY_SIZE_RANGE',
    'CKR_KEY_TYPE_INCONSISTENT',
    'CKR_MECHANISM_INVALID',
    'CKR_MECHANISM_PARAM_INVALID',
  ],
};

const remedies = new Map<string, Remedy>(
  Object.entries(returnValues).flatMap(([remedy, names]) =>
    names.map((name) => [name, remedy as Remedy] as const),
  ),
);

/** A PKCS#11 function answered something other than CKR_OK. */
export class Pkcs11Error extends Error {
  /** The C function, such as `C_Sign`. */
  readonly fn: string;
  /** The return value's name, such as `CKR_DEVICE_REMOVED`. */
  readonly returnValue: string;

  constructor(fn: string, returnValue: string, options?: ErrorOptions) {
    super(`${fn}: ${returnValue}`, options);
    this.name = 'Pkcs11Error';
    this.fn = fn;
    this.returnValue = returnValue;
  }

  /** Unknown and general errors call for the strongest remedy. */
  get remedy(): Remedy {
    return remedies.get(this.returnValue) ?? 'reinitialize';
  }

  /** Whether the same may succeed a little later, and does no harm if it does not. */
  get mayPass(): boolean {
    return this.remedy !== 'stop' && this.remedy !== 'none';
  }
}
