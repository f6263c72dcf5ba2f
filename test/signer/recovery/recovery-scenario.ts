// A PKCS#11 library has one state per process, so each fault runs in a process of its own.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { until } from '../../../app/dev/processes/until.ts';
import type { Keyring } from '../../../signer/pkcs11/keys/keyring.ts';
import { Library, type Session } from '../../../signer/pkcs11/library/pkcs11.ts';
import { signWith } from '../../../signer/pkcs11/token/signatures.ts';
import { Token } from '../../../signer/pkcs11/token/token.ts';

const { SIGNER_LIBRARY = '', SIGNER_TOKEN_LABEL = '', SIGNER_PIN_FILE = '' } = process.env;
const idle = 'session died while idle';
const [, , fault = ''] = process.argv;
const errors: string[] = [];
const token = new Token({
  library: SIGNER_LIBRARY,
  tokenLabel: SIGNER_TOKEN_LABEL,
  pin: readFileSync(SIGNER_PIN_FILE, 'utf8').trim(),
  sessions: 4,
  queueLimit: 100,
  keepAliveMs: fault === idle ? 20 : 60_000,
  changed() {},
  log: pino({ level: 'silent' }),
  observe(_fn, _seconds, returnValue) {
    if (returnValue !== 'CKR_OK') errors.push(returnValue);
  },
});
const sign = (session: Session, { signingKeys }: Keyring) => {
  const audit = signingKeys.find((key) => key.purpose === 'audit');
  if (audit === undefined) throw new Error('the token holds no audit key');
  return signWith(session, audit, randomBytes(32));
};
const signMany = () => Promise.all(Array.from({ length: 40 }, () => token.run(sign)));

const faults: Record<string, () => Promise<void> | void> = {
  async 'session closed'() {
    let first = true;
    await token.run((session, keyring) => {
      if (first) session.close();
      first = false;
      return sign(session, keyring);
    });
  },
  async [idle]() {
    await token.run((session) => session.close());
    await until(() => errors.length > 0, { what: 'the keep-alive', timeoutMs: 60_000 });
  },
  'logged out'() {
    const library = new Library(SIGNER_LIBRARY);
    const token = library.findToken(SIGNER_TOKEN_LABEL);
    if (token !== undefined) library.openSession(token).logout();
  },
  'library finalised'() {
    new Library(SIGNER_LIBRARY).finalize();
  },
};

token.start();
// Other processes create keys in the same token, which may delay SoftHSM for a moment.
await until(() => token.state === 'ready', { what: 'the token', timeoutMs: 60_000 });
await signMany();
await faults[fault]?.();
const foundBefore = errors.length;
const signatures = await signMany();
const { state } = token;
await token.close();
process.stdout.write(
  JSON.stringify({
    state,
    signatures: signatures.length,
    errors,
    foundAtWork: errors.length - foundBefore,
  }),
);
