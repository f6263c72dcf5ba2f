/**
 * Examines a release for `helm test`, and changes nothing: everything that the vault depends on is
 * ok, the public URL leads to this vault, and its audit keys vouch for each other. Prints a line
 * for each, and ends with 1 if one is not so. Reads API_URL, PUBLIC_URL and ISSUER.
 */
import { createHash, createPublicKey, verify } from 'node:crypto';

const { API_URL: api, PUBLIC_URL: publicUrl, ISSUER: issuer } = process.env;

async function readJson(url) {
  const response = await fetch(url, { signal: AbortSignal.timeout(20_000) });
  const body = await response.text();
  if (!response.ok) throw new Error(`${url} answers ${response.status}: ${body}`);
  return JSON.parse(body);
}

function require(condition, explanation) {
  if (!condition) throw new Error(explanation);
}

const checks = {
  async 'everything that the vault depends on is ok'() {
    const { checks: parts } = await readJson(`${api}/health`);
    for (const [name, { status, error }] of Object.entries(parts))
      require(status === 'ok', `${name}: ${error ?? status}`);
  },
  async 'the public URL leads to this vault'() {
    const { issuer: named } = await readJson(`${publicUrl}/.well-known/openid-configuration`);
    require(named === issuer, `the issuer is ${named}, not ${issuer}`);
    const sets = [publicUrl, api].map((url) => readJson(`${url}/.well-known/jwks.json`));
    const [there, here] = (await Promise.all(sets)).map(({ keys }) => keys.map(({ kid }) => kid));
    require(here.length > 0, 'the key set is empty');
    require(String(there) === String(here), `the public URL has the keys ${there}, not ${here}`);
  },
  async 'the audit keys vouch for each other'() {
    const { keys } = await readJson(`${api}/v1/audit/keys`);
    const byId = new Map(keys.map((key) => [key.keyId, key]));
    const audit = keys.filter(({ purpose }) => purpose === 'audit');
    require(audit.some(({ state }) => state === 'ACTIVE'), 'no audit key is active');
    for (const { keyId, publicKey, fingerprint, record } of audit) {
      const der = Buffer.from(publicKey, 'base64');
      const digest = createHash('sha256').update(der).digest('hex');
      require(digest === fingerprint, `${keyId}: its fingerprint is ${digest}`);
      require(digest.startsWith(keyId), `${keyId} does not begin its fingerprint`);
      // The record of a key that was made a moment ago may not be signed yet.
      if (record === null) continue;
      const signer = byId.get(record.hsmKeyId);
      require(signer !== undefined, `${keyId}: the list lacks the key that signed its record`);
      require(isSignedBy(signer, record), `${keyId}: the signature of its record is wrong`);
      const { action, resource, data } = JSON.parse(record.entryCanonical);
      require(
        action === 'key.created' && resource.id === keyId && data.publicKey === publicKey,
        `${keyId}: its record is about another key`,
      );
    }
  },
};

function isSignedBy({ publicKey }, { entryCanonical, hsmSignature }) {
  const key = createPublicKey({
    key: Buffer.from(publicKey, 'base64'),
    format: 'der',
    type: 'spki',
  });
  const signature = Buffer.from(hsmSignature, 'base64');
  return verify('sha3-256', Buffer.from(entryCanonical), key, signature);
}

for (const [what, check] of Object.entries(checks)) {
  try {
    await check();
    console.log(`ok: ${what}`);
  } catch (error) {
    console.log(`not ok: ${what}: ${error.cause?.message ?? error.message}`);
    process.exitCode = 1;
  }
}
