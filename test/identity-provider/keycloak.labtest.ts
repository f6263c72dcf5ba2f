import { testProviderContract } from './provider-contract.ts';

const { KEYCLOAK_ISSUER: issuer = '' } = process.env;

testProviderContract(() => new URL(issuer).origin);
