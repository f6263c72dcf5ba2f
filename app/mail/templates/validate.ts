import type { ValidateMail } from '../../outbox/mail.ts';
import { letter, type Block, type Letter } from './letter.ts';

interface ValidatePlace {
  readonly service: string;
  readonly validateUrl: string | undefined;
}

/**
 * The token in a link is in its fragment, which browsers send to no server: opening the link proves
 * nothing to anyone before the front end has compared the fingerprints.
 */
export function validate(mail: ValidateMail, { service, validateUrl }: ValidatePlace): Letter {
  const { token, fingerprint } = mail.values;
  const link: Block[] =
    validateUrl === undefined
      ? [{ paragraph: 'Only if it is the same, give your client this token:' }]
      : [
          { paragraph: 'Only if it is the same, open this link:' },
          { link: `${validateUrl}#token=${token}` },
          { paragraph: 'or give your client this token:' },
        ];
  return letter('Confirm your e-mail address', [
    { paragraph: `Someone, hopefully you, registered with this address at ${service}.` },
    { paragraph: 'Your client shows a fingerprint. Compare it with this one:' },
    { name: 'Fingerprint', value: fingerprint, size: 'large' },
    ...link,
    { name: 'Token', value: token, size: 'normal' },
    {
      paragraph:
        `It is valid ${validity(mail)} and works once. If the fingerprints differ, or if this ` +
        'was not you, do nothing: without the token no account comes into being.',
    },
  ]);
}

function validity({ expiresAt }: ValidateMail): string {
  const [day, time = ''] = new Date(expiresAt).toISOString().split('T');
  return `until ${day} ${time.slice(0, 5)} UTC`;
}
