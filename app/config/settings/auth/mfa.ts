import { z } from 'zod';
import type { Variables } from '../../../../signer/protocol/process/environment.ts';
import { isLoopback } from '../../../limits/network.ts';
import { Text, Url } from '../../definition/forms.ts';
import { isProduction } from '../../definition/production.ts';
import { readTrustedIssuers } from './auth.ts';
import { secretSetting, setting, type ValuesOf } from '../../definition/setting.ts';

/** A URL to which paths are appended. */
const BaseUrl = Url.refine((value) => {
  const url = URL.parse(value);
  return url === null || (url.search === '' && url.hash === '' && url.username === '');
}, 'has credentials, a query or a fragment; leave them out');

/** The path of a group of Keycloak. */
const GroupPath = Text.regex(/^(?:\/[^/]+)+$/, 'must be the path of a group such as /vault');

const secretsReread = 'at each new token';

/** Settings of the identity provider that keeps the second factors of users. */
export const mfaSettings = {
  title: 'MFA',
  introduction:
    'MFA is managed in a Keycloak realm ([mfa.md](mfa.md)). Set the first four variables ' +
    'together, or none of them: then the routes of MFA answer `identity_provider_unavailable`.',
  settings: {
    url: setting('MFA_KEYCLOAK_URL', BaseUrl.optional(), {
      form: '`http` or `https` URL',
      whenUnset: 'no MFA',
      description:
        'The Keycloak server, without `/realms`, as the app reaches it. In production it must ' +
        'use `https` unless it runs on the same machine: its requests carry secrets.',
    }),
    realm: setting('MFA_KEYCLOAK_REALM', Text.optional(), {
      form: 'name of a realm',
      whenUnset: 'no MFA',
      description: 'The realm of the users.',
    }),
    clientId: setting('MFA_KEYCLOAK_CLIENT_ID', Text.optional(), {
      form: 'id of a client',
      whenUnset: 'no MFA',
      description:
        'A confidential client of the realm whose service account may manage its users, or those ' +
        'of `MFA_KEYCLOAK_GROUP`.',
    }),
    clientSecret: secretSetting('MFA_KEYCLOAK_CLIENT_SECRET', Text.optional(), {
      form: 'text',
      whenUnset: 'no MFA',
      description: 'The secret of that client.',
      rereads: secretsReread,
    }),
    issuer: setting('MFA_KEYCLOAK_ISSUER', BaseUrl.optional(), {
      form: '`http` or `https` URL',
      whenUnset: '`<MFA_KEYCLOAK_URL>/realms/<MFA_KEYCLOAK_REALM>`',
      description:
        "The `iss` of the realm's tokens, if the app reaches Keycloak under another URL than " +
        'users do. Users with such tokens manage their MFA in the realm.',
    }),
    group: setting('MFA_KEYCLOAK_GROUP', GroupPath.optional(), {
      form: 'path of a group',
      whenUnset: 'the client may manage all users of the realm',
      description:
        'The group of the realm, such as `/vault`, whose members alone the client may manage. ' +
        'Users that the vault creates become members.',
    }),
    passwordClientId: setting('MFA_KEYCLOAK_PASSWORD_CLIENT_ID', Text.optional(), {
      form: 'id of a client',
      whenUnset: 'users of the realm cannot reauthenticate',
      description:
        'A confidential client of the realm whose direct grant asks for user name and password ' +
        'alone. `/auth/reauth` checks the passwords of users of the realm with it, unless ' +
        '`AUTH_REAUTH_PASSWORD` is `refuse`.',
    }),
    passwordClientSecret: secretSetting('MFA_KEYCLOAK_PASSWORD_CLIENT_SECRET', Text.optional(), {
      form: 'text',
      whenUnset: 'users of the realm cannot reauthenticate',
      description: 'The secret of that client. Set both or neither.',
      rereads: 'at each use',
    }),
    issuerLabel: setting(
      'MFA_ISSUER_LABEL',
      z
        .string()
        .min(1)
        .max(64)
        .regex(/^[^:%]*$/, 'has a colon or a percent sign; leave it out')
        .default('Probatio'),
      {
        form: 'text of at most 64 characters without `:` and `%`',
        description: 'The name of the vault in authenticator apps.',
      },
    ),
  },
  findConflicts: findMfaProblems,
};

/** Returns the configuration of MFA; `keycloak` is undefined if MFA is not set up. */
export function toMfaConfig(values: ValuesOf<typeof mfaSettings>) {
  const { url, realm, clientId, clientSecret, issuerLabel } = values;
  const isSet =
    url !== undefined &&
    realm !== undefined &&
    clientId !== undefined &&
    clientSecret !== undefined;
  const { passwordClientId, passwordClientSecret } = values;
  return {
    issuerLabel,
    keycloak: isSet
      ? {
          url,
          realm,
          issuer: values.issuer ?? `${url}/realms/${encodeURIComponent(realm)}`,
          group: values.group,
          admin: { id: clientId, secret: clientSecret, secretFile: values.clientSecretFile },
          passwords:
            passwordClientId === undefined || passwordClientSecret === undefined
              ? undefined
              : {
                  id: passwordClientId,
                  secret: passwordClientSecret,
                  secretFile: values.passwordClientSecretFile,
                },
        }
      : undefined,
  };
}

const needed = [
  'MFA_KEYCLOAK_URL',
  'MFA_KEYCLOAK_REALM',
  'MFA_KEYCLOAK_CLIENT_ID',
  'MFA_KEYCLOAK_CLIENT_SECRET',
] as const;
const passwordPair = [
  'MFA_KEYCLOAK_PASSWORD_CLIENT_ID',
  'MFA_KEYCLOAK_PASSWORD_CLIENT_SECRET',
] as const;

function findMfaProblems(variables: Variables): readonly string[] {
  const optional = [...passwordPair, 'MFA_KEYCLOAK_ISSUER', 'MFA_KEYCLOAK_GROUP'].filter(
    (name) => variables[name] !== undefined,
  );
  return [
    ...findMissingOf(needed, optional, variables),
    ...findMissingOf(passwordPair, [], variables),
    ...findInsecureUrl(variables),
    ...findOtherSubject(variables),
  ];
}

/**
 * Returns a problem for each of `names` that is not set although another of them, or one of
 * `users`, is set.
 */
function findMissingOf(
  names: readonly string[],
  users: readonly string[],
  variables: Variables,
): readonly string[] {
  const first = names.find((name) => variables[name] !== undefined) ?? users[0];
  if (first === undefined) return [];
  return names
    .filter((name) => variables[name] === undefined)
    .map((name) => `${name}: is not set, but ${first} is; set all of them or none`);
}

function findInsecureUrl(variables: Variables): readonly string[] {
  const url = URL.parse(variables['MFA_KEYCLOAK_URL'] ?? '');
  const isInsecure = url?.protocol === 'http:' && !isLoopback(url.hostname);
  return isProduction(variables) && isInsecure
    ? ['MFA_KEYCLOAK_URL: is an http URL of another machine; set it to an https URL']
    : [];
}

/** Refuses an issuer of the realm's tokens whose subjects are not those of Keycloak. */
function findOtherSubject(variables: Variables): readonly string[] {
  const { MFA_KEYCLOAK_URL: url, MFA_KEYCLOAK_REALM: realm = '' } = variables;
  const usual = `${url?.replace(/\/+$/, '')}/realms/${encodeURIComponent(realm)}`;
  const { MFA_KEYCLOAK_ISSUER: issuer = usual } = variables;
  const trusted = readTrustedIssuers(variables).issuers.find((each) => each.issuer === issuer);
  return trusted !== undefined && trusted.claims.subject.join('.') !== 'sub'
    ? ['AUTH_ISSUERS_FILE: must leave the claim `subject` of the realm of MFA_KEYCLOAK_URL at sub']
    : [];
}
