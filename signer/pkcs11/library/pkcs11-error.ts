/**
 * The action that must precede another attempt after an error, from mildest to strongest: use
 * another session; log in again and find the keys again; reinitialise the library. `stop` means
 * that another attempt would do harm (an HSM locks itself after a few wrong PINs), `none` that
 * another attempt cannot succeed.
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

/** Thrown when a PKCS#11 function returns anything but CKR_OK. */
export class Pkcs11Error extends Error {
  /** The C function, such as `C_Sign`. */
  readonly fn: string;
  /** The name of the return value, such as `CKR_DEVICE_REMOVED`. */
  readonly returnValue: string;

  constructor(fn: string, returnValue: string, options?: ErrorOptions) {
    super(`${fn}: ${returnValue}`, options);
    this.name = 'Pkcs11Error';
    this.fn = fn;
    this.returnValue = returnValue;
  }

  /** The remedy for the return value; unknown and general errors need `reinitialize`. */
  get remedy(): Remedy {
    return remedies.get(this.returnValue) ?? 'reinitialize';
  }

  /** Whether a retry may succeed a little later and does no harm if it fails. */
  get mayPass(): boolean {
    return this.remedy !== 'stop' && this.remedy !== 'none';
  }
}
