import { z } from 'zod';
import { Conditions } from './condition.ts';
import { durationOfAtLeast } from './duration.ts';
import { metadataOf } from './metadata.ts';
import { apiVersion } from './group.ts';
import { SigningPurpose } from './purpose.ts';

const Time = z.string();

export const SigningKeySpec = z.object({
  purpose: SigningPurpose.meta({
    description: 'What the key signs. Cannot be changed; one resource of each purpose acts.',
    'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'cannot be changed' }],
  }),
  // An hour is far above any time for which a key is published before it signs.
  rotateEvery: durationOfAtLeast('1h')
    .optional()
    .describe('How long a key signs, such as 2160h. Without it, keys are rotated on demand only.'),
  keepSpare: z
    .boolean()
    .default(true)
    .describe('Whether a successor is made and published ahead of the next rotation.'),
});

export const SigningKeyStatus = z.object({
  observedGeneration: z.int().describe('The metadata.generation that the status is about.'),
  keyId: z.string().optional().describe('Id of the key that signs.'),
  generation: z.int().optional().describe('Its number among the keys of the purpose.'),
  activeSince: Time.optional().describe('When it began to sign.'),
  nextRotation: Time.optional().describe('When its successor is due; absent if on demand only.'),
  spareKeyId: z.string().optional().describe('Id of the key that will sign next.'),
  creating: z
    .int()
    .optional()
    .describe('The generation that is being made. It stands here before it is first asked for.'),
  rotation: z
    .object({
      from: z.string().describe('Id of the key that is replaced.'),
      startedAt: Time.describe('When the rotation began.'),
      request: z.string().optional().describe('The text of the annotation that asked for it.'),
    })
    .optional()
    .describe('The rotation under way.'),
  answeredRequest: z
    .string()
    .optional()
    .describe('The text of the annotation whose rotation is done.'),
  failedAttempts: z.int().describe('Attempts of the present step that failed.'),
  lastFailure: z.string().optional().describe('The code with which the last of them failed.'),
  notBefore: Time.optional().describe('When the present step may be tried again.'),
  conditions: Conditions,
});
export type SigningKeyStatus = z.output<typeof SigningKeyStatus>;

export const SigningKey = z.object({
  apiVersion: z.literal(apiVersion),
  kind: z.literal('SigningKey'),
  metadata: metadataOf,
  spec: SigningKeySpec,
  status: SigningKeyStatus.optional(),
});
export type SigningKey = z.output<typeof SigningKey>;
