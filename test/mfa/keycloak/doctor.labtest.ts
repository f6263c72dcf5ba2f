import test from 'ava';
import { mfaSteps } from '../../../app/cli/doctor/dependencies/mfa-steps.ts';
import { runSteps } from '../../../app/cli/doctor/steps/steps.ts';
import {
  standInClients,
  standInGroup,
  standInRealm,
} from '../../../app/dev/identity-provider/realm.ts';

const { origin } = new URL(process.env['KEYCLOAK_ISSUER'] ?? '');

/** Examines the lab's realm for a vault that manages the members of a group, or all users. */
async function examine(group: string | undefined): Promise<Record<string, string>> {
  const { admin, passwords } = standInClients;
  const client = (each: { readonly id: string; readonly secret: string }) => ({
    ...each,
    secretFile: undefined,
  });
  const steps = mfaSteps({
    url: origin,
    realm: standInRealm,
    issuer: `${origin}/realms/${standInRealm}`,
    group,
    admin: client(admin),
    passwords: client(passwords),
  });
  const findings = await runSteps(steps);
  return Object.fromEntries(findings.map(({ name, grade, text }) => [name, `${grade} ${text}`]));
}

test('the doctor finds the rights over a group that docs/mfa.md gives, and no more', async (t) => {
  const found = await examine(standInGroup);
  for (const [name, text] of Object.entries(found)) t.regex(text, /^ok /, name);
  t.is(Object.keys(found).length, 4);

  // This client may not manage other users.
  const { 'mfa.rights': ofAll } = await examine(undefined);
  t.regex(ofAll ?? '', /^fail .*responds 403 .*manage users: give it the role manage-users/);
  const other = await examine('/none');
  t.regex(
    other['mfa.rights'] ?? '',
    /^fail .*the permissions over the group of MFA_KEYCLOAK_GROUP/,
  );
  t.regex(other['mfa.group'] ?? '', /^fail .*for the group: create it, correct MFA_KEYCLOAK_GROUP/);
});
