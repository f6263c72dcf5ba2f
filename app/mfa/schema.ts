import { z } from 'zod';
import { Timestamp } from '../http/bodies/wire.ts';
import { recoveryCodeCount } from './recovery-codes.ts';

export const MfaStatus = z
  .strictObject({
    enabled: z.boolean().describe('Whether logins at the identity provider ask for a code.'),
    method: z.literal('totp').describe('The only method: time-based one-time codes (RFC 6238).'),
    configuredAt: Timestamp.nullable().describe('When MFA was enabled; null if it is not.'),
    recoveryCodesRemaining: z
      .int()
      .min(0)
      .optional()
      .describe('How many recovery codes were not used yet; only if MFA is enabled.'),
  })
  .meta({ id: 'MfaStatus' });

export const MfaSetupQuery = z.strictObject({
  qr: z
    .enum(['svg'])
    .optional()
    .meta({ description: 'Adds the QR code of the URI to the answer, as `qrCodeSvg`.' }),
});

export const MfaSetup = z
  .strictObject({
    secret: z
      .string()
      .meta({ description: 'The secret in Base32, to be typed into an authenticator.' }),
    qrCodeUri: z.string().describe('The `otpauth://totp/` URI, to be shown as a QR code.'),
    qrCodeSvg: z.string().optional().describe('The QR code as an SVG image, if asked for.'),
    expiresAt: Timestamp.describe('When the set-up expires unless a code confirms it.'),
  })
  .meta({ id: 'MfaSetup' });

export const MfaCode = z
  .strictObject({
    code: z
      .string()
      .regex(/^[0-9]{6}$/, 'must be 6 digits')
      .meta({
        description: 'The code that the authenticator shows: 6 digits.',
        format: 'password',
      }),
  })
  .meta({ id: 'MfaCode' });

const RecoveryCodeList = z
  .array(z.string())
  .length(recoveryCodeCount)
  .describe('15 recovery codes, in the order in which they are used. Shown only once.');

export const MfaEnabled = z
  .strictObject({
    enabled: z.literal(true).describe('MFA is enabled.'),
    recoveryCodes: RecoveryCodeList,
  })
  .meta({ id: 'MfaEnabled' });

export const MfaDisabled = z
  .strictObject({ enabled: z.literal(false).describe('MFA is not enabled.') })
  .meta({ id: 'MfaDisabled' });

export const RecoveryCodes = z
  .strictObject({ recoveryCodes: RecoveryCodeList })
  .meta({ id: 'RecoveryCodes' });
