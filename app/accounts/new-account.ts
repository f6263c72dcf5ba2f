import { Scope } from './rights.ts';

/** The tenant and rights of every new account (contract, "Accounts and SRP-6a"). */
export const newAccount = {
  tenant_id: 'default',
  plan: 'standard',
  roles: ['user'],
  scopes: [...Scope.options],
};
