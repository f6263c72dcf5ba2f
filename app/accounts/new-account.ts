/** What every new account is given (contract, "Accounts and SRP-6a"). */
export const newAccount = {
  tenant_id: 'default',
  plan: 'standard',
  roles: ['user'],
  scopes: [
    'documents:read',
    'documents:write',
    'uploads:write',
    'keys:manage',
    'audit:read',
    'jobs:submit',
    'sync:read',
    'sync:write',
    'mfa:manage',
  ],
};
