import { createPublicKey, randomUUID } from 'node:crypto';
import { p256 } from '@noble/curves/nist.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import type { AuditProof } from '../../../client/proofs/proof-format.ts';
import { assertError } from '../../support/http/error-body.ts';
import { send } from '../../support/http/send.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import {
  dump,
  expire,
  registerOnly,
  startPurgeVault,
  untilSealed,
  type PurgeVault,
} from '../../support/accounts/purge-vault.ts';
import { validationMails } from '../../support/accounts/mails.ts';
import { register } from '../../support/accounts/test-account.ts';

let context: PurgeVault;
let auditor: Api;

test.before(async () => {
  context = await startPurgeVault();
  auditor = await createApi(context.vault, { roles: ['auditor'] });
});
test.after.always(() => context.stop());

/** Purges a user who registered twice; returns the proofs that an auditor obtained before. */
async function purgeSomebody() {
  const { vault, sql, purge } = context;
  const { account, userId } = await registerOnly(context);
  await register(vault, account);
  await validationMails(vault, account.email, 2);
  await untilSealed(sql);
  const rows = await sql('select id from audit_entries where user_id = $1 order by seq', [userId]);
  const proofs = await Promise.all(rows.map(({ id }) => obtainProof(String(id))));
  await expire(context, userId);
  const answer = await purge();
  return { userId, proofs, answer };
}

function obtainProof(id: string): Promise<AuditProof> {
  return until(
    async () => {
      const { status, body } = await auditor.send('GET', `/v1/audit/proof/${id}`);
      return status === 200 && (body as unknown as AuditProof);
    },
    { what: 'the signature', timeoutMs: 60_000 },
  );
}

test.serial(
  'an erased entry is gone for its readers, and stays not found for others',
  async (t) => {
    const { vault } = context;
    const { userId, proofs } = await purgeSomebody();
    t.is(proofs.length, 2);
    for (const { id } of proofs) {
      for (const path of [`/v1/audit/proof/${id}`, `/v1/audit/proof/${id}/verify`]) {
        const ask = async (as: Parameters<typeof createApi>[1]) => {
          const { token } = await createApi(vault, as);
          return send('GET', vault.baseUrl + path, { token });
        };
        for (const roles of [['auditor'], ['probatio_admin']]) {
          assertError(t, await ask({ roles }), { status: 410, code: 'entry_erased' });
        }
        assertError(t, await ask({ userId: randomUUID() }), { status: 404, code: 'not_found' });
        assertError(t, await ask({ userId, tenantId: 'other' }), {
          status: 404,
          code: 'not_found',
        });
      }
    }
  },
);

test.serial('text and salt are in no row any more, and seq has no gap', async (t) => {
  const { sql } = context;
  const { userId, proofs } = await purgeSomebody();
  const texts = await dump(sql);
  t.true(proofs.every(({ entryHash }) => texts.get('audit_seals')?.includes(entryHash) === true));
  for (const [table, text] of texts) {
    for (const { entryCanonical } of proofs) {
      const { salt, data } = JSON.parse(entryCanonical) as {
        salt: string;
        data: { emailHash: string };
      };
      t.false(text.includes(salt), table);
      t.false(text.includes(data.emailHash), table);
      t.false(text.includes(entryCanonical), table);
    }
  }
  const entries = await sql(
    `select seq::int, state, canonical, erased_at is not null as erased
     from audit_entries where user_id = $1 order by seq`,
    [userId],
  );
  const erased = { state: 'SEALED', canonical: null, erased: true };
  t.deepEqual(entries, [
    { seq: 1, ...erased },
    { seq: 2, ...erased },
  ]);
});

test.serial(
  'hash and signature stay, and the signature still verifies over the hash',
  async (t) => {
    const { sql } = context;
    const { userId, proofs } = await purgeSomebody();
    const entries = await sql(
      `select e.id, hash, signature, e.key_id as "keyId", public_key as "publicKey"
     from audit_entries e join signing_keys k on k.key_id = e.key_id
     where user_id = $1 order by seq`,
      [userId],
    );
    t.deepEqual(
      entries.map(({ hash, signature, keyId }) => ({ hash, signature, keyId })),
      proofs.map(({ entryHash, hsmSignature, hsmKeyId }) => ({
        hash: entryHash,
        signature: hsmSignature,
        keyId: hsmKeyId,
      })),
    );
    const [one, other] = entries.map(({ hash, signature, publicKey }) => ({
      digest: Buffer.from(String(hash), 'hex'),
      signature: Buffer.from(String(signature), 'base64'),
      point: pointOf(String(publicKey)),
    }));
    if (one === undefined || other === undefined)
      throw new Error('fewer than two entries are erased');
    const verify = (digest: Uint8Array) =>
      p256.verify(one.signature, digest, one.point, { prehash: false, lowS: false, format: 'der' });
    t.true(verify(one.digest));
    t.false(verify(other.digest));
  },
);

/** Returns the uncompressed point of a base64 SPKI. */
function pointOf(spki: string): Uint8Array {
  const der = Buffer.from(spki, 'base64');
  const { x = '', y = '' } = createPublicKey({ key: der, format: 'der', type: 'spki' }).export({
    format: 'jwk',
  });
  const coordinates = [x, y].map((value) => bytesToHex(Buffer.from(value, 'base64url')));
  return Buffer.from(`04${coordinates.join('')}`, 'hex');
}
