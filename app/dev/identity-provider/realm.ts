/** The realm of the stand-in, with the name that it has in test/labs/keycloak-realm.json. */
export const standInRealm = 'probatio';

/** The clients of the realm, as in test/labs/keycloak-realm.json. */
export const standInClients = {
  admin: { id: 'probatio-mfa', secret: 'probatio-mfa-secret' },
  passwords: { id: 'probatio-password', secret: 'probatio-password-secret' },
} as const;

/** The group of the realm whose members the vault may manage. */
export const standInGroup = '/vault';

/** Returns the variables of an app that manages MFA in this realm of a server. */
export function realmVariables(url: string): Record<string, string> {
  const { admin, passwords } = standInClients;
  return {
    MFA_KEYCLOAK_URL: url,
    MFA_KEYCLOAK_REALM: standInRealm,
    MFA_KEYCLOAK_GROUP: standInGroup,
    MFA_KEYCLOAK_CLIENT_ID: admin.id,
    MFA_KEYCLOAK_CLIENT_SECRET: admin.secret,
    MFA_KEYCLOAK_PASSWORD_CLIENT_ID: passwords.id,
    MFA_KEYCLOAK_PASSWORD_CLIENT_SECRET: passwords.secret,
  };
}
