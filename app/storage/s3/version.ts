import { StorageError } from '../interface/storage-error.ts';

interface VersionMembers {
  readonly VersionId?: string;
  readonly ETag?: string;
}

interface VersionCondition {
  readonly VersionId?: string;
  readonly IfMatch?: string;
}

/**
 * Returns the version for callers: `id:<VersionId>` in a versioned bucket, else `etag:<ETag>`. The
 * ETag identifies the bytes of a multipart object, as it is made from the digests of its parts.
 * Throws storage_unavailable without an ETag: such a response does not come from an object store.
 */
export function toVersion({ VersionId = '', ETag = '' }: VersionMembers): string {
  if (ETag === '') throw new StorageError('storage_unavailable');
  const isVersioned = VersionId !== '' && VersionId !== 'null';
  return isVersioned ? `id:${VersionId}` : `etag:${unquoted(ETag)}`;
}

/** Returns the members of a request that restrict it to this version. */
export function versionCondition(version = ''): VersionCondition {
  if (version.startsWith('id:')) return { VersionId: version.slice(3) };
  if (version.startsWith('etag:')) return { IfMatch: `"${version.slice(5)}"` };
  return {};
}

/** Removes the quotes of an ETag, which not every server sends. */
export function unquoted(etag: string): string {
  return etag.replaceAll('"', '');
}
