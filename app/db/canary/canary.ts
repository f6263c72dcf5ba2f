import { defineEntity, p } from '@mikro-orm/core';
import { callerId, servicePolicy } from '../columns/policies.ts';

/**
 * A single row that belongs to nobody. The service login sees it and the app login does not, which
 * shows that row-level security applies to the app login.
 */
export const IsolationCanary = defineEntity({
  name: 'IsolationCanary',
  tableName: 'isolation_canaries',
  rowLevelSecurity: 'force',
  policies: [
    {
      name: 'isolation_canaries_owner',
      command: 'select',
      roles: ['probatio_app'],
      using: `id = ${callerId}`,
    },
    servicePolicy('isolation_canaries'),
  ],
  properties: {
    id: p.uuid().primary(),
  },
});
