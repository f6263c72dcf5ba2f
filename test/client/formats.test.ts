import { readFile } from 'node:fs/promises';
import test from 'ava';
import { z } from 'zod';
import { commitmentOf } from '../../client/content/commitment.ts';
import { hashMetadata, Metadata } from '../../client/documents/metadata.ts';
import { AuditProof } from '../../client/proofs/proof-format.ts';
import { findSealDefect } from '../../client/proofs/seal.ts';
import { verifyProof } from '../../client/proofs/verify-proof.ts';
import { rfc5054Group3072 } from '../../client/srp/group.ts';
import { readVectors } from '../support/client/vectors.ts';

const formats = await readFile(new URL('../../docs/formats.md', import.meta.url), 'utf8');
const joined = formats.replaceAll(/\s/g, '');

const Strings = z.record(z.string(), z.unknown()).transform((vector) =>
  Object.entries(vector)
    .map(([name, value]) => [name, typeof value === 'string' ? value : ''] as const)
    .filter(([, value]) => /^[0-9a-f]{8,}$|^[A-Za-z0-9+/=]{56,}$/.test(value)),
);

test('the values printed in docs/formats.md are those of the test vectors', async (t) => {
  const [srp] = await readVectors('srp.json', z.array(Strings));
  const [, argon2] = await readVectors('argon2.json', z.array(Strings));
  const [leaf] = await readVectors('sync.json', z.array(Strings));
  const stream = z.looseObject({ files: z.array(Strings), metadata: Strings, keyword: Strings });
  const report = await readVectors('report.json', Strings);
  const { files, metadata, keyword, ...keys } = await readVectors('stream.json', stream);

  const parts = [srp, argon2, files[2], metadata, keyword, leaf, report, Strings.parse(keys)];
  const printed = parts.flat();
  t.is(printed.length, 47);
  for (const [name, value] of printed.map((entry) => entry ?? t.fail())) {
    if (name !== 'b') t.true(joined.includes(value), name);
  }
  t.true(joined.includes(rfc5054Group3072.N.toString(16)));
});

test('the statement printed in docs/formats.md is that of the test vectors', async (t) => {
  const Statements = z.object({ hash: z.string(), statement: z.record(z.string(), z.unknown()) });
  const { hash, statement } = await readVectors('statements.json', Statements);
  t.true(joined.includes(hash));
  t.true(joined.includes(JSON.stringify(statement)));
});

test('the identities and authors’ statements printed are those of the test vectors', async (t) => {
  const Named = z.object({ name: z.string(), statement: z.string(), signature: z.string() });
  const Authorship = z.object({ identities: z.array(Strings), statements: z.array(Named) });
  const { identities, statements } = await readVectors('authorship.json', Authorship);
  const printed = identities.flat();
  t.is(printed.length, 10);
  for (const [name, value] of printed) t.true(joined.includes(value), name);
  const isPrinted = statements.filter(({ name }) => name !== 'share of a version');
  t.is(isPrinted.length, 4);
  for (const { name, statement, signature } of isPrinted) {
    t.true(joined.includes(statement) && joined.includes(signature), name);
  }
});

test('the content commitment and the openings printed are those of the test vectors', async (t) => {
  const Content = z.looseObject({ fullOpening: z.unknown(), segmentsOpening: z.unknown() });
  const vectors = await readVectors('content.json', z.array(Content));
  const { fullOpening, segmentsOpening, ...vector } = vectors.at(-1) ?? t.fail();
  const printed = Strings.parse(vector);
  t.is(printed.length, 7);
  for (const [name, value] of printed) t.true(joined.includes(value), name);
  for (const opening of [fullOpening, segmentsOpening]) {
    t.true(joined.includes(JSON.stringify(opening)));
  }
});

test('the proof printed in docs/formats.md seals the metadata that is printed', async (t) => {
  const { metadata } = await readVectors(
    'stream.json',
    z.object({ metadata: z.object({ encryptedMetadata: z.string(), metadata: Metadata }) }),
  );
  const [, json = ''] = /```json\n(.*?)```/s.exec(formats) ?? [];
  const proof = AuditProof.parse(JSON.parse(json));
  const sealed = {
    documentId: '01890a5d-ab72-7c08-9d4e-1e8f6b2a9c35',
    version: 2,
    fileHash: metadata.metadata.fileHash,
    metadataHash: hashMetadata(metadata.encryptedMetadata),
    contentCommitment: await commitmentOf(metadata.metadata),
  };
  t.is(findSealDefect(sealed, proof, { trustedKeys: [proof.hsmKeyId] }), undefined);
});

test('the proof printed in docs/formats.md is valid', (t) => {
  const [, json = ''] = /```json\n(.*?)```/s.exec(formats) ?? [];
  const proof = AuditProof.parse(JSON.parse(json));
  t.true(verifyProof(proof, { trustedKeys: [proof.hsmKeyId] }).valid);
});
