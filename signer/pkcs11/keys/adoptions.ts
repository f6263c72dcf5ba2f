import * as ck from '../library/pkcs11.ts';

// An adoption is a data object in the token, so that all signers of the token learn of it, and so
// that it is kept as long as the key. It is private: only who has the PIN can create one.

const application = 'probatio';
const labelPattern = /^adopted-(?<keyId>[0-9a-f]{32})$/;

/** Finds the ids of the imported keys that an operator has adopted. */
export function findAdopted(session: ck.Session): ReadonlySet<string> {
  const ids = session.findObjects(adoptions).flatMap((handle) => {
    const [label] = session.readAttributes(handle, [ck.CKA_LABEL]);
    return labelPattern.exec(label.toString())?.groups?.keyId ?? [];
  });
  return new Set(ids);
}

/** Records in the token that an operator has adopted an imported key. */
export function recordAdoption(session: ck.Session, keyId: string): void {
  if (findAdopted(session).has(keyId)) return;
  session.createObject([...adoptions, { type: ck.CKA_LABEL, value: `adopted-${keyId}` }]);
}

const adoptions: ck.Template = [
  { type: ck.CKA_CLASS, value: ck.CKO_DATA },
  { type: ck.CKA_TOKEN, value: true },
  { type: ck.CKA_PRIVATE, value: true },
  { type: ck.CKA_APPLICATION, value: application },
];
