import { createPublicKey } from 'node:crypto';
import type { JWK } from 'jose';
import { z } from 'zod';

const timeoutMs = 5_000;
const maxBytes = 256 * 1024;
const minModulusBits = 2_048;

const KeyDocument = z.object({ keys: z.array(z.unknown()) });

/**
 * A public key for RS256. A key with the private part `d` is refused, since a published private key
 * is not secret.
 */
const SigningKey = z.object({
  kty: z.literal('RSA'),
  kid: z.string().optional(),
  use: z.literal('sig').optional(),
  key_ops: z
    .array(z.string())
    .refine((operations) => operations.includes('verify'))
    .optional(),
  alg: z.literal('RS256').optional(),
  n: z.string(),
  e: z.string(),
  d: z.never().optional(),
});

/**
 * Fetches the keys of a key set (RFC 7517) that can verify RS256; keys for other uses are ignored.
 * Rejects unless a complete document of at most 256 KiB arrives from `uri`, without a redirect,
 * within 5 s.
 */
export async function fetchSigningKeys(uri: string, stop: AbortSignal): Promise<JWK[]> {
  const response = await fetch(uri, {
    headers: { Accept: 'application/json, application/jwk-set+json' },
    redirect: 'error',
    signal: AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)]),
  });
  if (response.status !== 200 || response.body === null) {
    await response.body?.cancel();
    throw new Error(`the response to the request for the key set has status ${response.status}`);
  }
  const { keys } = parseDocument(await readText(response.body));
  return keys.flatMap((key) => {
    const parsed = SigningKey.safeParse(key);
    return parsed.success && isStrong(parsed.data) ? [parsed.data] : [];
  });
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error('the key set is larger than 256 KiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Parses a key set. Its errors do not contain the document, since they are logged. */
function parseDocument(text: string): z.output<typeof KeyDocument> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error('the key set is not JSON');
  }
  const parsed = KeyDocument.safeParse(json);
  if (!parsed.success) throw new Error('the response is not a key set');
  return parsed.data;
}

function isStrong({ kty, n, e }: z.output<typeof SigningKey>): boolean {
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key: { kty, n, e }, format: 'jwk' });
    return (asymmetricKeyDetails?.modulusLength ?? 0) >= minModulusBits;
  } catch {
    return false;
  }
}
