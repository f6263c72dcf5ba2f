import { StorageError } from '../interface/storage-error.ts';

/**
 * Versions as callers see them: `id:<VersionId>` in a versioned bucket, else `etag:<ETag>`. The ETag identifies the
 * bytes of a multipart object, as it is made from the digests of its parts. Throws storage_unavailable without one: it
 * is not the store that answered.
 */
export function toVersion({ VersionId, ETag }: { VersionId?: string; ETag?: string }): string {
  if (!ETag) throw new StorageError('storage_unavailable');
  return VersionId && VersionId !== 'null' ? `id:${VersionId}` : `etag:${unquoted(ETag)}`;
}

/** The request members that ask for this version and no other. */
export function versionCondition(version = ''): { VersionId?: string; IfMatch?: string } {
  if (version.startsWith('id:')) return { VersionId: version.slice(3) };
  if (version.startsWith('etag:')) return { IfMatch: `"${version.slice(5)}"` };
  return {};
}

/** Servers differ in whether they quote an ETag. */
export function unquoted(etag: string): string {
  return etag.replaceAll('"', '');
}
