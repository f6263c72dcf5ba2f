/** Offsets in bytes, both inclusive and within the file. */
export interface FileRange {
  readonly first: number;
  readonly last: number;
}

/**
 * The range of a file of `size` bytes that a Range header asks for (RFC 9110 §14.2): `beyond` where
 * the file has none of it, undefined where the header is to be ignored, as it is none, names several
 * ranges or another unit.
 */
export function parseRange(
  header: string | undefined,
  size: number,
): FileRange | 'beyond' | undefined {
  const [, from = '', to = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  if (from !== '' && to !== '' && Number(to) < Number(from)) return undefined;
  const end = size - 1;
  const first = from === '' ? Math.max(size - Number(to), 0) : Number(from);
  const last = from === '' || to === '' ? end : Math.min(Number(to), end);
  return first > end ? 'beyond' : { first, last };
}
