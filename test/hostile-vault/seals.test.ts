import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { addVersion } from '../../client/documents/add-version.ts';
import { changeMetadata } from '../../client/documents/change-metadata.ts';
import type { AuditProof } from '../../client/proofs/proof-format.ts';
import { SealError } from '../../client/proofs/seal.ts';
import { sourceOf, storeBytes } from '../support/client/stored.ts';
import { connect } from '../support/client/user.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import { assertCaught, createVictim, type Victim } from './liar.ts';
import { createForger, entryOf } from './statements/forger.ts';

const test = anyTest as TestFn<{ readonly victim: Victim }>;

test.before(async (t) => {
  t.context = { victim: await createVictim() };
});
test.afterEach.always((t) => t.context.victim.tellTruth());

const certify = /^POST .*\/certify$/;

async function storeOne(victim: Victim): Promise<string> {
  return (await storeBytes(victim, 100)).document.id;
}

async function assertNoSeal(
  t: ExecutionContext,
  { session }: Victim,
  id: string,
  reason: SealError['reason'],
): Promise<SealError> {
  const error = await t.throwsAsync(session.certifyDocument(id), {
    instanceOf: SealError,
    message: /no valid seal/,
  });
  t.is(error?.code, 'seal_invalid');
  t.is(error?.reason, reason);
  return error ?? t.fail();
}

test.serial('the seal of another document', async (t) => {
  const { victim } = t.context;
  const other = await victim.session.certifyDocument(await storeOne(victim));
  const id = await storeOne(victim);
  victim.lie(certify, (body) => Object.assign(body, { proof: other.proof }));
  const error = await assertNoSeal(t, victim, id, 'other_document');
  t.is(error.proofId, other.proof.id);
  t.deepEqual(error.proof, other.proof);
});

test.serial('the seal of an earlier version', async (t) => {
  const { victim } = t.context;
  const { masterKey, session, tools } = victim;
  const id = await storeOne(victim);
  const first = await session.certifyDocument(id);
  t.is(first.version, 1);
  await addVersion(tools, { id, masterKey, source: sourceOf(new Uint8Array(10)) });
  victim.lie(certify, (body) => Object.assign(body, { proof: first.proof }));
  await assertNoSeal(t, victim, id, 'other_version');
});

test.serial('an entry of another action on the document', async (t) => {
  const { victim } = t.context;
  const { session } = victim;
  const id = await storeOne(victim);
  const seal = await session.certifyDocument(id);
  const { body } = await session.http.send({ method: 'GET', path: `/v1/documents/${id}/proof` });
  const { proofs, actions } = body as { proofs: AuditProof[]; actions: Record<string, string> };
  const created = proofs.find((proof) => actions[proof.id] === 'document.created') ?? t.fail();
  t.not(created.id, seal.proof.id);
  victim.lie(/^GET .*\/audit\/proof\/[^/]+$/, () => created);
  await assertNoSeal(t, victim, id, 'other_action');
});

test.serial('a seal forged under a key of somebody else', async (t) => {
  const { victim } = t.context;
  const id = await storeOne(victim);
  const forger = createForger();
  victim.lie(certify, (body) =>
    Object.assign(body, { proof: forger.prove(entryOf(body['proof'])) }),
  );
  await assertNoSeal(t, victim, id, 'key_untrusted');
});

test.serial('a forged seal and a list of keys that names the forger', async (t) => {
  const { victim } = t.context;
  const { session } = victim;
  await session.certifyDocument(await storeOne(victim));
  const forger = createForger();
  const { keyId, publicKey, fingerprint } = forger;
  victim.lie(/^GET .*\/audit\/keys$/, (body) => {
    const [first] = body['keys'] as unknown as object[];
    const forged = { ...first, keyId, publicKey, fingerprint, vouchedBy: null };
    return { keys: [forged] };
  });
  victim.lie(certify, (body) =>
    Object.assign(body, { proof: forger.prove(entryOf(body['proof'])) }),
  );
  // The keys that the client saw first are remembered.
  await assertNoSeal(t, victim, await storeOne(victim), 'key_untrusted');
});

test.serial(
  'a vault that lies from the start, before a client that knows the fingerprint',
  async (t) => {
    const vault = sharedVault();
    const keys = await connect(vault).auditKeys();
    const first = keys.find(({ purpose, vouchedBy }) => purpose === 'audit' && vouchedBy === null);
    const trustedKeys = [first?.fingerprint ?? t.fail()];
    const pinned = await createVictim({ trustedKeys });
    const honest = await pinned.session.certifyDocument(await storeOne(pinned));
    t.is(honest.keyTrust, 'pinned');
    const { victim } = t.context;
    const { keyTrust } = await victim.session.certifyDocument(await storeOne(victim));
    t.is(keyTrust, 'first_seen');

    const wary = await createVictim({ trustedKeys });
    const forger = createForger();
    const { keyId, publicKey, fingerprint } = forger;
    const forged = { ...first, keyId, publicKey, fingerprint };
    wary.lie(/^GET .*\/audit\/keys$/, () => ({ keys: [forged] }));
    wary.lie(certify, (body) =>
      Object.assign(body, { proof: forger.prove(entryOf(body['proof'])) }),
    );
    await assertNoSeal(t, wary, await storeOne(wary), 'key_untrusted');
  },
);

test.serial('the right seal with a changed entry', async (t) => {
  const { victim } = t.context;
  victim.lie(certify, (body) => {
    const proof = body['proof'] as AuditProof;
    const entryCanonical = proof.entryCanonical.replace(/"size":\d/, '"size":9');
    return Object.assign(body, { proof: { ...proof, entryCanonical } });
  });
  await assertNoSeal(t, victim, await storeOne(victim), 'hash_mismatch');
});

test.serial('a seal that has not the form of a proof', async (t) => {
  const { victim } = t.context;
  const id = await storeOne(victim);
  let proofId = '';
  victim.lie(certify, (body) => {
    proofId = String(body['proofId']);
    return Object.assign(body, { proof: { id: 'x' } });
  });
  const error = await assertNoSeal(t, victim, id, 'malformed');
  t.is(error.proofId, proofId);
  t.deepEqual(error.proof, { id: 'x' });
  // The version is sealed by now, so the client asks for the proof that the vault names.
  victim.tellTruth();
  victim.lie(/^GET .*\/audit\/proof\/[^/]+$/, () => ({ id: 'x' }));
  t.is((await assertNoSeal(t, victim, id, 'malformed')).proofId, proofId);
  victim.tellTruth();
  t.is((await victim.session.certifyDocument(id)).proof.id, proofId);
});

test.serial('an earlier state of the document after its seal', async (t) => {
  const { victim } = t.context;
  const { masterKey, session, tools } = victim;
  const id = await storeOne(victim);
  const old = await session.documents.get(id);
  await changeMetadata(tools, { id, masterKey, name: 'the true name' });
  let asked = 0;
  victim.lie(/^GET .*\/documents\/[^/]+$/, (body) => {
    asked += 1;
    return asked === 1 ? body : old;
  });
  await assertCaught(t, session.certifyDocument(id), 'rolled_back');
});

test.serial('a reauthentication by a vault that does not know the verifier', async (t) => {
  const { victim } = t.context;
  const { credentials, session } = victim;
  victim.lie(/^POST .*\/reauth$/, (body) => Object.assign(body, { M2: '00'.repeat(32) }));
  await assertCaught(t, session.reauthenticate(credentials.password), 'server_proof_invalid');
});
