import { letter, type Letter } from './letter.ts';

export function alreadyRegistered(service: string): Letter {
  return letter('Someone tried to register with your address', [
    {
      paragraph: `Your address already has an account at ${service}, so nothing was changed.`,
    },
    { paragraph: 'If it was you, log in as usual.' },
    {
      paragraph:
        'If it was not you, there is nothing to do: whoever it was got the answer that everyone ' +
        'gets, and came no closer to the account.',
    },
  ]);
}
