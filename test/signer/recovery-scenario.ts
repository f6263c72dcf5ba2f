// A PKCS#11 library is one for the whole process, so each fault has a process of its own.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { Hsm } from '../../signer/hsm.ts';
import type { Keyring } from '../../signer/keyring.ts';
import { CKM_ECDSA, Library } from '../../signer/pkcs11.ts';
import type { Session } from '../../signer/pkcs11.ts';

const { SIGNER_LIBRARY = '', SIGNER_TOKEN_LABEL = '', SIGNER_PIN_FILE = '' } = process.env;
const errors: string[] = [];
const hsm = new Hsm({
  library: SIGNER_LIBRARY,
  tokenLabel: SIGNER_TOKEN_LABEL,
  pin: readFileSync(SIGNER_PIN_FILE, 'utf8').trim(),
  sessions: 4,
  queueLimit: 100,
  log: pino({ level: 'silent' }),
  observe(_fn, _seconds, returnValue) {
    if (returnValue !== 'CKR_OK') errors.push(returnValue);
  },
});
const sign = (session: Session, { audit }: Keyring) =>
  session.sign(CKM_ECDSA, audit.handle, randomBytes(32), 64);
const signMany = () => Promise.all(Array.from({ length: 40 }, () => hsm.run(sign)));

const faults: Record<string, () => Promise<void> | void> = {
  async 'session closed'() {
    let first = true;
    await hsm.run((session, keyring) => {
      if (first) session.close();
      first = false;
      return sign(session, keyring);
    });
  },
  'logged out'() {
    const library = new Library(SIGNER_LIBRARY);
    const token = library.findToken(SIGNER_TOKEN_LABEL);
    if (token) library.openSession(token).logout();
  },
  'library finalised'() {
    new Library(SIGNER_LIBRARY).finalize();
  },
};

hsm.start();
await signMany();
await faults[process.argv[2] ?? '']?.();
const signatures = await signMany();
const { state } = hsm;
await hsm.close();
process.stdout.write(JSON.stringify({ state, signatures: signatures.length, errors }));
