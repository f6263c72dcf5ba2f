import { z } from 'zod';
import { ClientError } from '../errors/client-error.ts';
import { WrappedKey } from '../crypto/key.ts';
import type { Http } from '../http/http.ts';
import type { HttpRequest } from '../http/request.ts';

const StoredEnvelope = z.object({ encryptedEnvelope: WrappedKey });

interface EnvelopeRequest extends HttpRequest {
  readonly json: { readonly encryptedEnvelope: string };
}

/**
 * Stores a wrapped key in the vault. Throws invalid_response unless the response repeats the
 * wrapped key: if a server in between had responded in place of the vault, the key would be lost
 * permanently.
 */
export async function storeEnvelope(http: Http, request: EnvelopeRequest): Promise<void> {
  const { encryptedEnvelope } = await http.json(StoredEnvelope, request);
  if (encryptedEnvelope !== request.json.encryptedEnvelope) {
    throw new ClientError('invalid_response');
  }
}
