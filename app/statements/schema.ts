import { z } from 'zod';
import { Signature } from '../identities/schema.ts';

/**
 * Limit on bodies with a statement. It leaves room beyond the longest statement, so that one that
 * is too long is refused with details.
 */
export const statementBodyBytes = 2 ** 15;

/** A statement in which the author says what is done, signed by the author's identity. */
export const AuthorStatement = z
  .strictObject({
    statement: z
      .string()
      .min(2)
      .max(4096)
      .describe(
        'What the author does, in canonical JSON (RFC 8785) of the members that docs/formats.md ' +
          'lists for the action.',
      ),
    signature: Signature.describe(
      'Signature of the statement by the `signingKey` of the caller’s present identity: base64 ' +
        'of 64 bytes.',
    ),
  })
  .meta({ id: 'AuthorStatement' });
export type AuthorStatement = z.output<typeof AuthorStatement>;
