/** The settings that production requires beside the backends, for an app on this machine. */
export const productionSettings = {
  NODE_ENV: 'production',
  HOST: '127.0.0.1',
  PORT: '0',
  HTTP_PUBLIC_URL: 'https://vault.test',
  HTTP_INTERNAL_HOST: '127.0.0.1',
  HTTP_INTERNAL_PORT: '0',
  MAIL_FROM: 'The Vault <no-reply@vault.test>',
} as const;
