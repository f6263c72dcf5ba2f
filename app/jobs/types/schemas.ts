import { z } from 'zod';
import { Email } from '../../accounts/email.ts';

export const JobTypeName = z.enum(['EMAIL_VALIDATION']).describe('Type of the job.');

export const EmailValidation = z
  .strictObject({ email: Email.describe('The e-mail address of the registration.') })
  .meta({ id: 'EmailValidationPayload' });

export const EmailValidationResult = z
  .strictObject({
    processed: z.literal(true).describe('Always this value, whether or not an e-mail was sent.'),
  })
  .meta({ id: 'EmailValidationResult' });
