import { z } from 'zod';
import { PermanentFailure } from '../outbox/permanent-failure.ts';

const Code = z
  .string()
  .regex(/^[A-Z0-9_]{1,40}$/)
  .optional()
  .catch(undefined);

/**
 * The members of nodemailer's errors that may be used. The text and all other members quote the
 * server.
 */
const SmtpError = z.object({
  code: Code,
  originalCode: Code,
  timeoutType: Code,
  command: z
    .string()
    .regex(/^[A-Z0-9 -]{1,20}$/)
    .optional()
    .catch(undefined),
  responseCode: z.int().min(200).max(599).optional().catch(undefined),
  response: z.string().catch(''),
});

type SmtpError = z.output<typeof SmtpError>;

/**
 * Converts an error of nodemailer. The result names the step and the codes, but contains no e-mail
 * address, no command, and no text of the server, which may repeat these. A recipient or message
 * that the server refuses permanently becomes a PermanentFailure; a refused login or sender does
 * not, as an operator can fix it.
 */
export function smtpFailure(error: unknown): Error {
  const details = SmtpError.parse(error);
  const text = describe(details);
  return isRefusedForGood(details) ? new PermanentFailure(text) : new Error(text);
}

/**
 * Returns whether the server refused the recipient or the message for good. Excludes 503 and 530,
 * which concern the SMTP session: RCPT before MAIL, no login, no TLS.
 */
function isRefusedForGood({ command, responseCode = 0 }: SmtpError): boolean {
  const isAboutMessage = command === 'RCPT TO' || command === 'DATA';
  return isAboutMessage && responseCode >= 500 && responseCode !== 503 && responseCode !== 530;
}

function describe({ code, originalCode, timeoutType, ...answer }: SmtpError): string {
  const codes = [code, originalCode, timeoutType].filter((name) => name !== undefined).join(', ');
  const { command = 'unknown', responseCode, response } = answer;
  const reply = [responseCode, /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1]];
  const answered = reply.filter((part) => part !== undefined).join(' ');
  return answered === ''
    ? `the mail server could not be reached or stopped responding (step ${command}; ${codes})`
    : `the mail server answered ${answered} (step ${command}; ${codes})`;
}
