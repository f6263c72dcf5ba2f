import { z } from 'zod';

const JsonWebKey = z
  .strictObject({
    kty: z.literal('RSA').describe('Key type.'),
    use: z.literal('sig').describe('The key verifies signatures.'),
    alg: z.literal('RS256').describe('Signature algorithm.'),
    kid: z.string().describe('Key id: the `kid` in the header of a token.'),
    n: z.string().describe('Modulus, base64url.'),
    e: z.string().describe('Exponent, base64url.'),
  })
  .meta({ id: 'JsonWebKey' });

export const JsonWebKeySet = z
  .strictObject({ keys: z.array(JsonWebKey).describe('Keys whose tokens may still be valid.') })
  .meta({ id: 'JsonWebKeySet' });

export const Discovery = z
  .strictObject({
    issuer: z.string().describe('The `iss` of the vault’s tokens.'),
    jwks_uri: z.string().describe('URL of the key set.'),
    response_types_supported: z.array(z.string()).describe('No flow of OpenID Connect: `none`.'),
    subject_types_supported: z.array(z.string()).describe('Always `public`.'),
    id_token_signing_alg_values_supported: z.array(z.string()).describe('Always `RS256`.'),
  })
  .meta({ id: 'OpenIdConfiguration' });
