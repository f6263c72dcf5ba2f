import { Scope } from './rights.ts';

/** What every new account is given (contract, "Accounts and SRP-6a"). */
export const newAccount = {
  tenant_id: 'default',
  plan: 'standard',
  roles: ['user'],
  scopes: [...Scope.options],
};
