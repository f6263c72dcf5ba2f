import { letter, type Letter } from './letter.ts';

export function accountClosed(service: string): Letter {
  return letter('Your account was closed', [
    { paragraph: `The account of this address at ${service} was closed.` },
    {
      paragraph:
        'Its keys are destroyed and its unsealed documents are removed. Sealed documents and ' +
        'their proofs are kept, encrypted as they were.',
    },
    {
      paragraph: 'If it was not you, somebody knows your password: change it wherever you use it.',
    },
  ]);
}
