import { readFile } from 'node:fs/promises';
import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { verifyProof } from '../../../client/proofs/verify-proof.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { generateCorpus } from '../../vectors/proofs.generate.ts';
import { proofBytes } from '../../vectors/proofs/case.ts';
import { readCorpus } from '../../vectors/proofs/corpus.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';

const { cases, keys } = await readCorpus();

test('the committed corpus is what its generator produces, byte for byte', async (t) => {
  for (const [name, text] of Object.entries(generateCorpus())) {
    const file = new URL(`../../vectors/proofs/${name}`, import.meta.url);
    t.true((await readFile(file, 'utf8')) === text, name);
  }
});

test('the client judges every proof of the corpus as expected and names the fault', (t) => {
  const trustedKeys = keys.audit.map(({ keyId }) => keyId);
  for (const proofCase of cases) {
    const proof = parse(proofBytes(proofCase));
    const { reason, keyTrusted: _, ...verdict } = verifyProof(proof, { trustedKeys, keys: listed });
    t.is(reason, proofCase.reason, proofCase.name);
    const { expected } = proofCase;
    if (expected === 'malformed') t.deepEqual(verdict, nothingValid, proofCase.name);
    else t.deepEqual(verdict, { ...expected, ...factsOf(proof) }, proofCase.name);
  }
});

test('the vault judges every proof of the corpus as expected or as malformed', async (t) => {
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const api = await createApi(vault);
  await registerKeys(vault);
  for (const proofCase of cases) {
    const { status, body } = await api.send('POST', '/v1/audit/proof/verify-external', {
      bytes: Buffer.concat([Buffer.from('{"proof":'), proofBytes(proofCase), Buffer.from('}')]),
      headers: { 'content-type': 'application/json' },
    });
    if (proofCase.expected === 'malformed') {
      t.true(status === 400 || status === 413, `${proofCase.name}: ${status}`);
    } else {
      const { verifiedAt: _, compromisedSince: __, ...verdict } = body;
      const { expected, reason, name } = proofCase;
      const facts = factsOf(parse(proofBytes(proofCase)));
      t.deepEqual(
        verdict,
        { ...expected, ...facts, ...(reason === undefined ? {} : { reason }) },
        name,
      );
    }
  }
});

const listed = [...keys.audit, ...keys.token];

/** Returns what a verdict says of the key that a proof names; nothing of an unknown key. */
function factsOf(proof: unknown) {
  const { hsmKeyId } = proof as { readonly hsmKeyId: string };
  const key = listed.find(({ keyId }) => keyId === hsmKeyId);
  return key === undefined ? {} : { keyState: key.state, imported: key.imported };
}

const nothingValid = { valid: false, hashValid: false, signatureValid: false };

/** Parses JSON in UTF-8; returns undefined for anything else. */
function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/** Registers the keys of the corpus, with what the corpus says of them. */
async function registerKeys({ baseUrl, databases }: TestVault): Promise<void> {
  const service = await connectAs(databases.service);
  for (const purpose of ['audit', 'token'] as const) {
    for (const [index, key] of keys[purpose].entries()) {
      await service.query(
        `insert into signing_keys (key_id, purpose, algorithm, public_key, generation,
           state, imported, activated_at, retired_at, compromised_since)
         values ($1, $2, 'ECDSA-P256-SHA3-256', $3, $4, $5, $6, $7, $8, $9)`,
        [
          key.keyId,
          purpose,
          key.publicKey,
          100 + index,
          key.state,
          key.imported,
          key.activatedAt,
          key.retiredAt,
          key.compromisedSince,
        ],
      );
    }
  }
  await service.end();
  const [last] = keys.token;
  await until(
    async () =>
      (await (await fetch(`${baseUrl}/v1/audit/keys`)).text()).includes(String(last?.keyId)),
    { what: 'the vault to read the new keys', timeoutMs: 60_000 },
  );
}
