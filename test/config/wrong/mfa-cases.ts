import { secret } from './files.ts';
import type { WrongSettings } from './wrong-settings.ts';

const rightMfa = {
  MFA_KEYCLOAK_REALM: 'staff',
  MFA_KEYCLOAK_CLIENT_ID: 'vault',
  MFA_KEYCLOAK_CLIENT_SECRET: secret,
};

/** Wrong settings of the identity provider, and what a stranger is told about each. */
export const mfaCases: readonly WrongSettings[] = [
  {
    what: 'the identity provider is half set',
    env: { MFA_KEYCLOAK_URL: 'https://id.example', MFA_KEYCLOAK_CLIENT_SECRET: secret },
    problems: ['MFA_KEYCLOAK_REALM', 'MFA_KEYCLOAK_CLIENT_ID'].map(
      (name) => `${name}: is not set, but MFA_KEYCLOAK_URL is; set all of them or none`,
    ),
  },
  {
    what: 'a client checks passwords in no realm, and has no secret',
    env: { MFA_KEYCLOAK_PASSWORD_CLIENT_ID: 'checks' },
    problems: [
      ...['URL', 'REALM', 'CLIENT_ID', 'CLIENT_SECRET'].map(
        (name) =>
          `MFA_KEYCLOAK_${name}: is not set, but MFA_KEYCLOAK_PASSWORD_CLIENT_ID is; ` +
          'set all of them or none',
      ),
      'MFA_KEYCLOAK_PASSWORD_CLIENT_SECRET: is not set, but MFA_KEYCLOAK_PASSWORD_CLIENT_ID ' +
        'is; set all of them or none',
    ],
  },
  {
    what: 'the identity provider has no TLS',
    env: { ...rightMfa, MFA_KEYCLOAK_URL: 'http://id.example' },
    problems: ['MFA_KEYCLOAK_URL: is an http URL of another machine; set it to an https URL'],
  },
  {
    what: 'the identity provider has a password in its URL',
    env: { ...rightMfa, MFA_KEYCLOAK_URL: `https://id:${secret}@id.example` },
    problems: ['MFA_KEYCLOAK_URL: has credentials, a query or a fragment; leave them out'],
  },
  {
    what: 'the group of the users has no path',
    env: { ...rightMfa, MFA_KEYCLOAK_URL: 'https://id.example', MFA_KEYCLOAK_GROUP: 'vault' },
    problems: ['MFA_KEYCLOAK_GROUP: must be the path of a group such as /vault'],
  },
  {
    what: 'the label of authenticators has a colon',
    env: { MFA_ISSUER_LABEL: 'the vault: mine' },
    problems: ['MFA_ISSUER_LABEL: has a colon or a percent sign; leave it out'],
  },
];
