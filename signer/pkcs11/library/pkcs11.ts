import pkcs11js from 'pkcs11js';
import { MeasuredApi, type Observer } from './measured-api.ts';
import { Pkcs11Error } from './pkcs11-error.ts';

export const {
  CKA_ALWAYS_SENSITIVE,
  CKA_APPLICATION,
  CKA_CLASS,
  CKA_DECRYPT,
  CKA_DERIVE,
  CKA_EC_PARAMS,
  CKA_EC_POINT,
  CKA_ENCRYPT,
  CKA_EXTRACTABLE,
  CKA_ID,
  CKA_KEY_TYPE,
  CKA_LABEL,
  CKA_LOCAL,
  CKA_MODULUS,
  CKA_MODULUS_BITS,
  CKA_NEVER_EXTRACTABLE,
  CKA_PRIVATE,
  CKA_PUBLIC_EXPONENT,
  CKA_SENSITIVE,
  CKA_SIGN,
  CKA_TOKEN,
  CKA_UNWRAP,
  CKA_VALUE_LEN,
  CKA_VERIFY,
  CKA_WRAP,
  CKK_EC,
  CKK_GENERIC_SECRET,
  CKK_RSA,
  CKM_ECDSA,
  CKM_EC_KEY_PAIR_GEN,
  CKM_GENERIC_SECRET_KEY_GEN,
  CKM_RSA_PKCS_KEY_PAIR_GEN,
  CKM_SHA256_HMAC,
  CKM_SHA256_RSA_PKCS,
  CKO_DATA,
  CKO_PRIVATE_KEY,
  CKO_PUBLIC_KEY,
  CKO_SECRET_KEY,
} = pkcs11js;

export type Handle = pkcs11js.Handle;
export type Template = pkcs11js.Template;

export interface Slot {
  readonly id: Handle;
  readonly label: string;
  readonly initialized: boolean;
  readonly userPinSet: boolean;
}

/** CKS_RO_USER_FUNCTIONS and CKS_RW_USER_FUNCTIONS: the session states of a logged-in user. */
const userStates = new Set([1, 3]);

const labelBytes = 32;
/** Number of handles to request per call, since each call may be a network round trip. */
const findBatch = 512;

/**
 * The PKCS#11 functions that the signer uses, with typed errors. Every method throws Pkcs11Error.
 * Key generation and `sign` run on the thread pool, everything else on the calling thread.
 */
export class Library {
  readonly #api: MeasuredApi;

  /** Loads the shared library at `path`. Throws if it cannot be loaded. */
  constructor(path: string, observe: Observer = () => {}) {
    this.#api = new MeasuredApi(new pkcs11js.PKCS11(path), observe);
  }

  initialize(): void {
    this.#api.call('C_Initialize', (ck) => ck.C_Initialize({ flags: pkcs11js.CKF_OS_LOCKING_OK }));
  }

  /** Finalises the library, which frees its memory: callers MUST NOT have a call in progress. */
  finalize(): void {
    this.#api.call('C_Finalize', (ck) => ck.C_Finalize());
  }

  /** Lists the slots that hold a token, initialised or not. */
  listSlots(): Slot[] {
    const ids = this.#api.call('C_GetSlotList', (ck) => ck.C_GetSlotList(true));
    return ids.map((id) => {
      const info = this.#api.call('C_GetTokenInfo', (ck) => ck.C_GetTokenInfo(id));
      return {
        id,
        label: info.label.trimEnd(),
        initialized: (info.flags & pkcs11js.CKF_TOKEN_INITIALIZED) !== 0,
        userPinSet: (info.flags & pkcs11js.CKF_USER_PIN_INITIALIZED) !== 0,
      };
    });
  }

  /** Finds the initialised token with this label. Slot numbers may change; labels do not. */
  findToken(label: string): Slot | undefined {
    return this.listSlots().find((slot) => slot.initialized && slot.label === label);
  }

  initToken(slot: Slot, soPin: string, label: string): void {
    const padded = label.padEnd(labelBytes);
    this.#api.call('C_InitToken', (ck) => ck.C_InitToken(slot.id, soPin, padded));
  }

  openSession(slot: Slot, { readWrite = false } = {}): Session {
    const flags = pkcs11js.CKF_SERIAL_SESSION | (readWrite ? pkcs11js.CKF_RW_SESSION : 0);
    const handle = this.#api.call('C_OpenSession', (ck) => ck.C_OpenSession(slot.id, flags));
    return new Session(this.#api, handle);
  }
}

/** A PKCS#11 session, for one operation at a time. All sessions of a process share its login. */
export class Session {
  readonly #api: MeasuredApi;
  readonly #handle: Handle;
  /** Buffers of the call in progress, kept alive here because pkcs11js does not (pkcs11js#121). */
  readonly #held = new Set<Buffer | Template>();

  constructor(api: MeasuredApi, handle: Handle) {
    this.#api = api;
    this.#handle = handle;
  }

  login(pin: string): void {
    this.#login(pkcs11js.CKU_USER, pin);
  }

  loginAsSecurityOfficer(pin: string): void {
    this.#login(pkcs11js.CKU_SO, pin);
  }

  logout(): void {
    this.#api.call('C_Logout', (ck) => ck.C_Logout(this.#handle));
  }

  initPin(pin: string): void {
    this.#api.call('C_InitPIN', (ck) => ck.C_InitPIN(this.#handle, pin));
  }

  close(): void {
    this.#api.call('C_CloseSession', (ck) => ck.C_CloseSession(this.#handle));
  }

  /** Throws unless the session is alive and its user is logged in. */
  probe(): void {
    const fn = 'C_GetSessionInfo';
    const { state } = this.#api.call(fn, (ck) => ck.C_GetSessionInfo(this.#handle));
    if (!userStates.has(state)) throw new Pkcs11Error(fn, 'CKR_USER_NOT_LOGGED_IN');
  }

  findObjects(template: Template): Handle[] {
    return this.#api.call('C_FindObjects', (ck) => {
      ck.C_FindObjectsInit(this.#handle, template);
      try {
        const found: Handle[] = [];
        for (;;) {
          const next = ck.C_FindObjects(this.#handle, findBatch);
          if (next.length === 0) return found;
          found.push(...next);
        }
      } finally {
        ck.C_FindObjectsFinal(this.#handle);
      }
    });
  }

  /** Returns the values of attributes of these types, in the order of `types`. */
  readAttributes<const Types extends readonly number[]>(
    object: Handle,
    types: Types,
  ): { [Index in keyof Types]: Buffer } {
    const attributes = this.#api.call('C_GetAttributeValue', (ck) =>
      ck.C_GetAttributeValue(
        this.#handle,
        object,
        types.map((type) => ({ type })),
      ),
    );
    const values = attributes.map(({ value }) => {
      if (Buffer.isBuffer(value)) return value;
      throw new Pkcs11Error('C_GetAttributeValue', 'CKR_ATTRIBUTE_TYPE_INVALID');
    });
    return values as { [Index in keyof Types]: Buffer };
  }

  /** Resolves with the handle of the private key. */
  async generateKeyPair(
    mechanism: number,
    publicKey: Template,
    privateKey: Template,
  ): Promise<Handle> {
    return this.#hold([publicKey, privateKey], async () => {
      const pair = await this.#api.callAsync('C_GenerateKeyPair', (ck) =>
        ck.C_GenerateKeyPairAsync(this.#handle, { mechanism }, publicKey, privateKey),
      );
      return pair.privateKey;
    });
  }

  async generateKey(mechanism: number, template: Template): Promise<Handle> {
    return this.#hold([template], () =>
      this.#api.callAsync('C_GenerateKey', (ck) =>
        ck.C_GenerateKeyAsync(this.#handle, { mechanism }, template),
      ),
    );
  }

  createObject(template: Template): void {
    this.#api.call('C_CreateObject', (ck) => ck.C_CreateObject(this.#handle, template));
  }

  destroyObject(object: Handle): void {
    this.#api.call('C_DestroyObject', (ck) => ck.C_DestroyObject(this.#handle, object));
  }

  /** Signs `data`. `maxBytes` is the length of the longest signature that the key can make. */
  async sign(mechanism: number, key: Handle, data: Buffer, maxBytes: number): Promise<Buffer> {
    const signature = Buffer.alloc(maxBytes);
    return this.#hold([data, signature], () => {
      this.#api.call('C_SignInit', (ck) => ck.C_SignInit(this.#handle, { mechanism }, key));
      return this.#api.callAsync('C_Sign', (ck) => ck.C_SignAsync(this.#handle, data, signature));
    });
  }

  /** Signs like `sign`, on the calling thread, which waits for the token. */
  signSync(mechanism: number, key: Handle, data: Buffer, maxBytes: number): Buffer {
    this.#api.call('C_SignInit', (ck) => ck.C_SignInit(this.#handle, { mechanism }, key));
    return this.#api.call('C_Sign', (ck) => ck.C_Sign(this.#handle, data, Buffer.alloc(maxBytes)));
  }

  async #hold<T>(used: readonly (Buffer | Template)[], run: () => Promise<T>): Promise<T> {
    for (const each of used) this.#held.add(each);
    try {
      return await run();
    } finally {
      this.#held.clear();
    }
  }

  #login(userType: number, pin: string): void {
    try {
      this.#api.call('C_Login', (ck) => ck.C_Login(this.#handle, userType, pin));
    } catch (error) {
      const already =
        error instanceof Pkcs11Error && error.returnValue === 'CKR_USER_ALREADY_LOGGED_IN';
      if (!already) throw error;
    }
  }
}
