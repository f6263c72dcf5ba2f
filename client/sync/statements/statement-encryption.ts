import { ClientError } from '../../errors/client-error.ts';
import type { LeafCipher } from '../objects/leaf-encryption.ts';
import { hashLeaf, Statement, type OpenedStatement, type Statements } from './statement.ts';
import type { SealedStatements } from '../objects/sealed-statements.ts';
import { findNewest, pointerToStatement } from './statements-member.ts';

export type StatementEncryption = ReturnType<typeof createStatementEncryption>;

/** Creates the encryption of statements, each of which is a leaf of its object. */
export function createStatementEncryption(cipher: LeafCipher) {
  async function open(
    objectId: string,
    device: string,
    { count, leaf }: { readonly count: number; readonly leaf: string },
  ): Promise<OpenedStatement> {
    const pointer = pointerToStatement(device, count);
    const { value, isPresent } = await cipher.open(objectId, pointer, leaf);
    const { success, data } = Statement.safeParse(value);
    if (!success || data.count !== count) throw new ClientError('invalid_leaf');
    return { ...data, hash: hashLeaf(leaf), isPresent };
  }

  return {
    /** Decrypts the newest statement of each device. Throws invalid_leaf unless every one opens. */
    async openAll(objectId: string, sealed: SealedStatements): Promise<Statements> {
      const opened = Array.from(
        findNewest(sealed),
        async ([device, newest]) => [device, await open(objectId, device, newest)] as const,
      );
      return new Map(await Promise.all(opened));
    },

    seal: (objectId: string, device: string, statement: Statement): Promise<string> =>
      cipher.seal(objectId, pointerToStatement(device, statement.count), statement),
  };
}
