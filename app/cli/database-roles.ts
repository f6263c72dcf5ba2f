import { roleSettings } from '../config/settings/backends.ts';
import type { DatabaseRoles } from '../db/columns/roles.ts';
import { readVariable } from './command.ts';

/** Reads the names of the roles from the environment. Throws UsageError. */
export function readRoles(): DatabaseRoles {
  const { appRole, serviceRole } = roleSettings;
  return {
    app: readVariable(appRole.variable, appRole.schema),
    service: readVariable(serviceRole.variable, serviceRole.schema),
  };
}
