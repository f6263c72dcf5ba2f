import type { ValidateMail } from '../../outbox/mail.ts';
import { letter, type Block, type Letter } from './letter.ts';

interface ValidatePlace {
  readonly service: string;
  readonly validateUrl: string | undefined;
}

/**
 * Renders the letter that validates an e-mail address. The link has the token in its fragment,
 * which browsers never send to a server: opening the link validates nothing until the front end has
 * compared the fingerprints.
 */
export function validate(mail: ValidateMail, { service, validateUrl }: ValidatePlace): Letter {
  const { token, fingerprint } = mail.values;
  const link: Block[] =
    validateUrl === undefined
      ? [{ paragraph: 'Only if both are equal, enter this token in your client:' }]
      : [
          { paragraph: 'Only if both are equal, open this link:' },
          { link: `${validateUrl}#token=${token}` },
          { paragraph: 'or enter this token in your client:' },
        ];
  return letter('Confirm your e-mail address', [
    { paragraph: `Someone registered at ${service} with this e-mail address.` },
    { paragraph: 'Your client shows a fingerprint. Compare it with this one:' },
    { name: 'Fingerprint', value: fingerprint, size: 'large' },
    ...link,
    { name: 'Token', value: token, size: 'normal' },
    {
      paragraph:
        `The token is valid ${validity(mail)} and can be used once. If the fingerprints differ, ` +
        'or if you did not register, ignore this e-mail: without the token no account is created.',
    },
  ]);
}

function validity({ expiresAt }: ValidateMail): string {
  const [day, time = ''] = new Date(expiresAt).toISOString().split('T');
  return `until ${day} ${time.slice(0, 5)} UTC`;
}
