import { letter, type Letter } from './letter.ts';

export function alreadyRegistered(service: string): Letter {
  return letter('Someone tried to register with your e-mail address', [
    {
      paragraph:
        `This e-mail address already has an account at ${service}. Someone tried to register ` +
        'with it again; nothing was changed.',
    },
    { paragraph: 'If it was you, log in as usual.' },
    {
      paragraph:
        'If it was not you, you need not do anything: the attempt revealed nothing about the ' +
        'account and gave no access to it.',
    },
  ]);
}
