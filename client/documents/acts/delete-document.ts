import { withPresent, type Author } from '../../authorship/author.ts';
import type { MasterKeys } from '../../keys/master-keys.ts';
import { openDocument, statedVersionOf, type OpenDependencies } from '../open-document.ts';

interface DeleteDependencies extends OpenDependencies {
  readonly author: Author;
}

/**
 * Deletes a document, and states so. Throws VaultError 403 document_sealed, and what `openDocument`
 * and `Author.state` throw. `Documents.delete` deletes without a statement, also a document that
 * does not open.
 */
export async function deleteDocument(
  { author, ...dependencies }: DeleteDependencies,
  owned: MasterKeys & { readonly id: string },
): Promise<void> {
  const { documents } = dependencies;
  const open = () => openDocument(dependencies, owned);
  await withPresent(open, async (opened) => {
    const act = { action: 'document.deleted', ...(await statedVersionOf(opened)) } as const;
    await documents.delete(opened.documentId, await author.state(act));
  });
}
