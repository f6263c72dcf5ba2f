/** The groups of the API document, in the order in which a newcomer needs them. */
export const tags = {
  Accounts: 'Register an account, look at what it keeps, and close it.',
  Login: 'Log in by SRP-6a, refresh tokens, prove again who you are, and end login sessions.',
  Uploads: 'Send an encrypted file in parts.',
  Documents: 'Make documents of uploaded files, list, search, download and certify them.',
  Proofs: 'Read and verify audit entries and their signed proofs.',
  Sharing: 'Share documents with other users.',
  'Keys and devices': 'Store wrapped keys, and register and revoke devices.',
  Synchronisation: 'Keep JSON objects in step between the devices of a user.',
  Jobs: 'Have long work done, follow it, and look after what others submitted.',
  Operation: 'Health, published keys, maintenance, and the dead-letter queue.',
} as const;

export type Tag = keyof typeof tags;
