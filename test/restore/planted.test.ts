import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { v7 as uuidv7 } from 'uuid';
import type { AuditProof } from '../../app/proof/proof.ts';
import { markKey } from '../../app/restore/high-water-marks/mark-key.ts';
import { createMarkText } from '../../app/restore/high-water-marks/mark.ts';
import { StartRefused } from '../../app/errors/start-refused.ts';
import { createOwnToken, type OwnToken } from '../signing-keys/keys-vault.ts';
import { testStack, testIssuer } from '../support/vault/stack.ts';
import { createDrillVault } from './drill-vault.ts';

const test = anyTest as TestFn<
  OwnToken & { newVault: () => Parameters<typeof createDrillVault>[1] }
>;

test.before(async (t) => {
  const token = await createOwnToken();
  const newVault = () => ({
    database: testStack().templateDatabase,
    store: undefined,
    token: token.fixture.environment.SIGNER_SOCKET_PATH,
  });
  t.context = { ...token, newVault };
});
test.after.always((t) => t.context.remove());

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const spki = publicKey.export({ format: 'der', type: 'spki' });

/** Returns a mark signed by an unknown key, and well formed in everything else. */
function plant(id: string, sealed: number): AuditProof {
  const state = { sealed, newestEntryId: id, keyIds: [] };
  const text = Buffer.from(createMarkText({ id, issuer: testIssuer, at: new Date() }, state));
  return {
    id,
    entryCanonical: text.toString(),
    entryHash: createHash('sha3-256').update(text).digest('hex'),
    hsmSignature: sign('sha3-256', text, privateKey).toString('base64'),
    hsmKeyId: createHash('sha256').update(spki).digest('hex').slice(0, 32),
    publicKey: spki.toString('base64'),
  };
}

const later = (hours: number) => uuidv7({ msecs: Date.now() + hours * 3_600_000 });

test('forged marks do not stop a vault that has a mark of its own, and are logged', async (t) => {
  const drill = await createDrillVault(t, t.context.newVault());
  const vault = await drill.start();
  await vault.seal(3);
  await drill.untilMarked();
  await vault.stop();
  const [own = ''] = await drill.objects.list();
  const proof = await drill.objects.read(own);
  if (proof === undefined) throw new Error('the vault wrote no mark');
  const forged = plant(later(1), 1_000);
  await drill.objects.write(forged);
  // Writes a forged mark under a registered key's id, a copy under a later id, and a changed text.
  await drill.objects.write({
    ...plant(later(2), 1_000),
    hsmKeyId: proof.hsmKeyId,
    publicKey: proof.publicKey,
  });
  await drill.objects.write({ ...proof, id: later(3) });
  await drill.store(markKey(later(3)), JSON.stringify(proof));
  await drill.objects.write({
    ...proof,
    id: later(4),
    entryCanonical: proof.entryCanonical.replace('"sealed":', '"sealed":9'),
  });
  for (let number = 5; number < 25; number += 1) await drill.store(markKey(later(number)));

  const again = await drill.start();
  await again.seal(2);
  await drill.untilMarked();
  await again.stop();
  t.is(again.services.admission.admitted?.markIds[0], own);
  const warning = again.logLines.find((line) =>
    line.includes('high-water marks that no key of this vault signed'),
  );
  t.like(JSON.parse(warning ?? '{}'), { level: 'warn', count: 25 });
  const third = await drill.start();
  t.not(third.services.admission.admitted?.markIds[0], own);
});

test('forged marks in a new vault’s store stop its start until they are accepted', async (t) => {
  const drill = await createDrillVault(t, t.context.newVault());
  const { id } = plant(later(1), 1_000);
  await drill.objects.write(plant(id, 1_000));
  const error = await t.throwsAsync(drill.start(), { instanceOf: StartRefused });
  t.regex(error.message, /: the database and the token lack the key of all 1 marks/);
  t.notRegex(error.message, /sealed entries/);
  await drill.accept(id);
  const vault = await drill.start();
  await vault.seal(2);
  await drill.untilMarked();
  await vault.stop();
  const next = await drill.start();
  t.is(next.services.admission.admitted?.restoration, undefined);
});
