import { letter, type Letter } from './letter.ts';

export function accountClosed(service: string): Letter {
  return letter('Your account was closed', [
    { paragraph: `The account of this e-mail address at ${service} was closed.` },
    {
      paragraph:
        'Its keys were destroyed and its unsealed documents were removed. Sealed documents and ' +
        'their proofs are kept in encrypted form.',
    },
    {
      paragraph:
        'If you did not close it, someone knows your password: change it wherever you use it.',
    },
  ]);
}
