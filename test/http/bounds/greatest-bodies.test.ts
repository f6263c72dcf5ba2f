import { randomUUID } from 'node:crypto';
import test from 'ava';
import { metadataBodyBytes } from '../../../app/http/bodies/json-body.ts';
import { UploadForm } from '../../../app/documents/form-upload/schema.ts';
import { listRoutes } from '../../../app/wiring/routes.ts';

const base64 = (bytes: number) => Buffer.alloc(bytes).toString('base64');
const digest = 'f'.repeat(64);
const envelope = base64(40);
const salt = 'f'.repeat(128);
const verifier = '7'.repeat(768);
const email = `${'a'.repeat(64)}@${'b'.repeat(60)}.${'c'.repeat(60)}.example.org`;

const metadata = {
  encryptedMetadata: base64(65_536),
  keywordDeterministic: Array<string>(200).fill(digest),
};
const storagePath = `${randomUUID()}/${'\u{1f36f}'.repeat(63)}`;

/** Bodies whose fields are all as long as their schemas allow, by route. */
const greatest: Readonly<Record<string, object>> = {
  'POST /v1/documents': { ...metadata, storagePath },
  'PUT /v1/documents/:id/metadata': metadata,
  'POST /v1/documents/:id/versions': {
    encryptedMetadata: metadata.encryptedMetadata,
    storagePath,
  },
  'POST /v1/documents/search': {
    all: Array<string>(50).fill(digest),
    any: Array<string>(50).fill(digest),
  },
  'POST /v1/documents/:id/share': {
    recipientEmail: email,
    wrappedKey: base64(1024),
    permissions: ['read'],
    expiresAt: new Date().toISOString(),
  },
  'POST /v1/auth/register': { email, salt, verifier },
  'PUT /v1/auth/credentials': {
    salt,
    verifier,
    masterEnvelope: envelope,
    recovery: { encryptedEnvelope: envelope, recoverySalt: salt, recoveryVerifier: verifier },
    devices: Array.from({ length: 100 }, () => ({
      deviceId: randomUUID(),
      encryptedEnvelope: envelope,
    })),
    keyring: base64(65_536),
  },
  'POST /v1/auth/reauth': { password: '\u0001'.repeat(1024) },
  'POST /v1/audit/proof/verify-batch': { ids: Array.from({ length: 1000 }, () => randomUUID()) },
  'POST /v1/audit/proof/verify-external': {
    proof: {
      id: randomUUID(),
      entryCanonical: '"'.repeat(65_536),
      entryHash: digest,
      hsmSignature: base64(80),
      hsmKeyId: 'f'.repeat(32),
      publicKey: base64(512),
    },
  },
};

const routes = new Map(
  listRoutes().map((route) => [`${route.method.toUpperCase()} ${route.path}`, route]),
);

for (const [name, json] of Object.entries(greatest)) {
  test(`${name} accepts its greatest valid body`, (t) => {
    const { body, maxBodyBytes = 0 } = routes.get(name) ?? t.fail();
    t.true(body?.safeParse(json).success);
    const bytes = Buffer.byteLength(JSON.stringify(json));
    t.true(bytes <= maxBodyBytes, `${bytes} of ${maxBodyBytes}`);
  });
}

test('the field of a form has room for the greatest document', (t) => {
  const { document } = UploadForm.shape;
  t.true(document.safeParse(metadata).success);
  t.true(Buffer.byteLength(JSON.stringify(metadata)) <= metadataBodyBytes);
});
