// Runs one operation on a token. A PKCS#11 library can be loaded once per process, so each
// operation runs in a process of its own:
// make <purpose> <from> [to] generates a key of each of these generations, whatever exists;
// contest <purpose> creates the next key while another of the same number is generated;
// destroy <class> <label> [count] destroys the public, private or secret halves of all keys with
//   this label, or of `count` of them;
// mix <label> replaces the public half of an audit key by that of a key outside of the token.
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createNextKey, type Workplace } from '../../../signer/pkcs11/keys/key-creation.ts';
import { generateKey } from '../../../signer/pkcs11/keys/key-templates.ts';
import { keyPurposes } from '../../../signer/pkcs11/keys/key-label.ts';
import * as ck from '../../../signer/pkcs11/library/pkcs11.ts';
import { withToken, workIn } from '../../../signer/pkcs11/provisioning/token-access.ts';
import { SigningPurpose } from '../../../signer/protocol/protocol.ts';

const { SIGNER_LIBRARY = '', SIGNER_TOKEN_LABEL = '', SIGNER_PIN_FILE = '' } = process.env;
const access = {
  library: SIGNER_LIBRARY,
  tokenLabel: SIGNER_TOKEN_LABEL,
  pin: readFileSync(SIGNER_PIN_FILE, 'utf8').trim(),
};
const classes = new Map([
  ['public', ck.CKO_PUBLIC_KEY],
  ['private', ck.CKO_PRIVATE_KEY],
  ['secret', ck.CKO_SECRET_KEY],
]);
const [, , operation, first = '', second = '', third = second] = process.argv;

await (operation === 'contest'
  ? contest(SigningPurpose.parse(first))
  : withToken(access, operationOf(operation)));

function operationOf(name: string | undefined): (session: ck.Session) => Promise<void> | void {
  if (name === 'make') return make;
  return name === 'mix' ? mix : destroy;
}

async function make(session: ck.Session): Promise<void> {
  const purpose = keyPurposes.find((known) => known === first);
  if (purpose === undefined) throw new Error(`unknown purpose: ${first}`);
  for (let generation = Number(second); generation <= Number(third); generation += 1)
    await generateKey[purpose](session, { generation, rsaBits: 2048 });
}

async function contest(purpose: SigningPurpose): Promise<void> {
  const token = workIn(access);
  let contested = false;
  const contestedToken: Workplace = {
    use: (work) => token.use(work),
    async renew() {
      if (contested) return;
      contested = true;
      await token.use((session) => generateKey[purpose](session, { generation: 2, rsaBits: 2048 }));
    },
  };
  await createNextKey(contestedToken, { purpose, after: 0, rsaBits: 2048 });
}

function destroy(session: ck.Session): void {
  const objects = session.findObjects([
    { type: ck.CKA_CLASS, value: classes.get(first) ?? -1 },
    { type: ck.CKA_LABEL, value: second },
  ]);
  if (objects.length === 0) throw new Error(`the token has no ${first} half of ${second}`);
  const count = third === second ? objects.length : Number(third);
  for (const object of objects.slice(0, count)) session.destroyObject(object);
}

function mix(session: ck.Session): void {
  const half = [
    { type: ck.CKA_CLASS, value: ck.CKO_PUBLIC_KEY },
    { type: ck.CKA_LABEL, value: first },
  ];
  const [object] = session.findObjects(half);
  if (object === undefined) throw new Error(`the token has no public half of ${first}`);
  const [id, parameters] = session.readAttributes(object, [ck.CKA_ID, ck.CKA_EC_PARAMS]);
  session.destroyObject(object);
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const point = publicKey.export({ type: 'spki', format: 'der' }).subarray(-65);
  session.createObject([
    ...half,
    { type: ck.CKA_KEY_TYPE, value: ck.CKK_EC },
    { type: ck.CKA_TOKEN, value: true },
    { type: ck.CKA_PRIVATE, value: false },
    { type: ck.CKA_ID, value: id },
    { type: ck.CKA_EC_PARAMS, value: parameters },
    { type: ck.CKA_EC_POINT, value: Buffer.concat([Buffer.of(4, 65), point]) },
  ]);
}
