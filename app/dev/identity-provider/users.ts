import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { Refusal } from './answer.ts';
import { standInGroup } from './realm.ts';

const Credential = z.object({
  id: z.string(),
  type: z.enum(['otp', 'recovery-authn-codes']),
  userLabel: z.string().optional(),
  createdDate: z.int(),
  secretData: z.string(),
  credentialData: z.string(),
});

const User = z.object({
  id: z.string(),
  username: z.string(),
  password: z.string().optional(),
  /** Whether the user is outside of the group whose members the vault may manage. */
  isOutside: z.boolean().optional(),
  credentials: z.array(Credential),
});
export type StandInUser = z.output<typeof User>;

/** The part of a user's representation that the vault sends. */
export const UserUpdate = z.strictObject({ credentials: z.array(Credential) });
export const NewUser = z.strictObject({
  username: z.string().min(1),
  enabled: z.literal(true),
  groups: z.tuple([z.literal(standInGroup)]),
});

interface UsersOptions {
  /** The file that keeps the users; they are kept in memory only without one. */
  readonly file: string | undefined;
  /** Users that exist from the start, with passwords. */
  readonly users: readonly Pick<StandInUser, 'id' | 'username' | 'password' | 'isOutside'>[];
}

export type Users = ReturnType<typeof openUsers>;

/** Opens the users of the stand-in, which treats credentials as Keycloak does. */
export function openUsers({ file, users }: UsersOptions) {
  const all = new Map<string, StandInUser>();
  for (const user of users) all.set(user.id, { ...user, credentials: [] });
  for (const user of file === undefined ? [] : readUsers(file)) all.set(user.id, user);

  function store(): void {
    if (file === undefined) return;
    writeFileSync(`${file}.new`, JSON.stringify([...all.values()]), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }

  const findByName = (username: string) =>
    [...all.values()].find((user) => user.username === username);

  function load(id: string): StandInUser {
    const user = all.get(id);
    if (user === undefined) throw new Refusal(404, 'User not found');
    return user;
  }

  return {
    load,
    findByName,

    create({ username }: z.output<typeof NewUser>): StandInUser {
      if (findByName(username) !== undefined) {
        throw new Refusal(409, 'User exists with same username');
      }
      const user = { id: randomUUID(), username, credentials: [] };
      all.set(user.id, user);
      store();
      return user;
    },

    /**
     * Adds credentials. One whose id exists stays as it is, a label must be unique, and recovery
     * codes replace those before.
     */
    update(id: string, { credentials }: z.output<typeof UserUpdate>): void {
      const user = load(id);
      const added = credentials.filter((each) =>
        user.credentials.every((old) => old.id !== each.id),
      );
      const labels = new Set(user.credentials.map(({ userLabel }) => userLabel));
      if (added.some(({ userLabel }) => userLabel !== undefined && labels.has(userLabel))) {
        throw new Refusal(409, 'User exists with same username or email');
      }
      const replacesCodes = added.some(({ type }) => type === 'recovery-authn-codes');
      const kept = user.credentials.filter(
        ({ type }) => !(replacesCodes && type === 'recovery-authn-codes'),
      );
      all.set(id, { ...user, credentials: [...kept, ...added] });
      store();
    },

    removeCredential(id: string, credentialId: string): void {
      const user = load(id);
      const credentials = user.credentials.filter((each) => each.id !== credentialId);
      if (credentials.length === user.credentials.length) {
        throw new Refusal(404, 'Credential not found');
      }
      all.set(id, { ...user, credentials });
      store();
    },

    remove(id: string): void {
      load(id);
      all.delete(id);
      store();
    },
  };
}

function readUsers(file: string): StandInUser[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return [];
  }
  return z.array(User).parse(JSON.parse(text));
}
