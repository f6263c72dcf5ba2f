import { metadata } from '../../support/documents/documents.ts';
import { documentPart, filePart, formOf, formEnd, formType, type FormPart } from './forms.ts';

/** A form that the vault refuses, by default with status 400 and code invalid_form. */
export interface BadForm {
  readonly what: string;
  readonly form: Buffer<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status?: number;
  readonly code?: string;
  /** The path in the first of the error's details; undefined if the error has no details. */
  readonly path?: string;
  /** Whether the file part had begun, so that an upload session was opened. */
  readonly begun?: boolean;
}

const good = { encryptedMetadata: metadata, keywordDeterministic: [] };
const document = documentPart();
const file = filePart('the file');
const named = (name: string): FormPart => [`Content-Disposition: form-data; name="${name}"`, 'x'];
const cut = (form: Buffer<ArrayBuffer>, bytes: number) => form.subarray(0, form.length - bytes);

export const badForms: readonly BadForm[] = [
  { what: 'no parts', form: Buffer.from(formEnd.slice(2)), path: 'document' },
  { what: 'an empty body', form: Buffer.alloc(0), path: 'form' },
  { what: 'a body that is not a form', form: Buffer.from('{}'), path: 'form' },
  { what: 'no file', form: formOf(document), path: 'file' },
  { what: 'no document', form: formOf(file), path: 'file' },
  { what: 'the file before the document', form: formOf(file, document), path: 'file' },
  { what: 'two documents', form: formOf(document, document), path: 'document' },
  { what: 'a third field', form: formOf(document, file, named('more')), path: 'form', begun: true },
  { what: 'two files', form: formOf(document, file, file), path: 'form', begun: true },
  {
    what: 'a document after the file',
    form: formOf(document, file, document),
    path: 'form',
    begun: true,
  },
  { what: 'an unknown field first', form: formOf(named('more'), document, file), path: 'form' },
  {
    what: 'an unknown field in the middle',
    form: formOf(document, named('more'), file),
    path: 'form',
  },
  { what: 'a wrong name for the file', form: formOf(document, named('File')), path: 'form' },
  {
    what: 'a field without a name',
    form: formOf(['Content-Disposition: form-data', 'x'], document, file),
    path: 'form',
  },
  {
    what: 'a part that is not a field',
    form: formOf(['Content-Disposition: attachment', 'x'], document),
    path: 'file',
  },
  { what: 'a part without headers', form: formOf(document, ['', 'x']), path: 'file' },
  {
    what: 'a line break in a name',
    form: formOf(document, ['Content-Disposition: form-data; name="fi\nle"', 'x']),
    path: 'file',
  },
  {
    what: 'no closing boundary',
    form: cut(formOf(document, file), formEnd.length),
    path: 'form',
    begun: true,
  },
  {
    what: 'half a closing boundary',
    form: cut(formOf(document, file), 5),
    path: 'form',
    begun: true,
  },
  {
    what: 'truncated within the document',
    form: formOf(document, file).subarray(0, 100),
    path: 'form',
  },
  {
    what: 'truncated within the headers of the file',
    form: cut(formOf(document, file), formEnd.length + 20),
    path: 'form',
  },
  {
    what: 'an encoded file',
    form: formOf(document, [`${file[0]}\r\nContent-Transfer-Encoding: base64`, 'AAAA']),
    path: 'file',
  },
  {
    what: 'an empty file',
    form: formOf(document, filePart('')),
    code: 'validation_failed',
    path: 'file',
    begun: true,
  },
  {
    what: 'a file without a name',
    form: formOf(document, named('file')),
    code: 'validation_failed',
    path: 'file.fileName',
  },
  {
    what: 'an empty file name',
    form: formOf(document, filePart('x', '')),
    code: 'validation_failed',
    path: 'file.fileName',
  },
  {
    what: 'a path as file name',
    form: formOf(document, filePart('x', '../x')),
    code: 'validation_failed',
    path: 'file.fileName',
  },
  {
    what: 'a NUL in the file name',
    form: formOf(document, filePart('x', 'a\0b')),
    code: 'validation_failed',
    path: 'file.fileName',
  },
  {
    what: 'a long file name',
    form: formOf(document, filePart('x', 'ä'.repeat(128))),
    code: 'validation_failed',
    path: 'file.fileName',
  },
  {
    what: 'a file name longer than a header may be',
    form: formOf(document, filePart('x', 'a'.repeat(9000))),
    code: 'validation_failed',
    path: 'file.fileName',
  },
  {
    what: 'a type that is not allowed',
    form: formOf(document, [
      'Content-Disposition: form-data; name="file"; filename="a"\r\nContent-Type: text/html',
      'x',
    ]),
    code: 'mime_type_not_allowed',
    path: 'mimeType',
  },
  {
    what: 'a document that is not JSON',
    form: formOf([document[0], '{'], file),
    code: 'invalid_json',
    path: 'document',
  },
  {
    what: 'an empty document',
    form: formOf([document[0], ''], file),
    code: 'invalid_json',
    path: 'document',
  },
  {
    what: 'a NUL in the document',
    form: formOf(documentPart({ ...good, encryptedMetadata: '\0' }), file),
    code: 'invalid_json',
    path: 'document',
  },
  {
    what: 'a document over 128 KiB',
    form: formOf([document[0], ' '.repeat(2 ** 17 + 1)], file),
    path: 'document',
  },
  {
    what: 'a document that is a list',
    form: formOf(documentPart([]), file),
    code: 'validation_failed',
    path: 'document',
  },
  {
    what: 'a missing field',
    form: formOf(documentPart({ keywordDeterministic: [] }), file),
    code: 'validation_failed',
    path: 'document.encryptedMetadata',
  },
  {
    what: 'a storagePath',
    form: formOf(documentPart({ ...good, storagePath: 'a/b' }), file),
    code: 'validation_failed',
    path: 'document.storagePath',
  },
  {
    what: 'a malformed keyword',
    form: formOf(documentPart({ ...good, keywordDeterministic: ['x'] }), file),
    code: 'validation_failed',
    path: 'document.keywordDeterministic.0',
  },
  {
    what: 'no Content-Type',
    form: formOf(document, file),
    headers: { 'content-type': '' },
    status: 415,
    code: 'multipart_required',
    path: 'Content-Type',
  },
  {
    what: 'a wrong Content-Type',
    form: formOf(document, file),
    headers: { 'content-type': 'application/json' },
    status: 415,
    code: 'multipart_required',
    path: 'Content-Type',
  },
  {
    what: 'a form of another kind',
    form: Buffer.from('document=1&file=2'),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    status: 415,
    code: 'multipart_required',
    path: 'Content-Type',
  },
  {
    what: 'another multipart type',
    form: formOf(document, file),
    headers: { 'content-type': formType.replace('form-data', 'mixed') },
    status: 415,
    code: 'multipart_required',
    path: 'Content-Type',
  },
  {
    what: 'a Content-Type that only begins like the right one',
    form: formOf(document, file),
    headers: { 'content-type': formType.replace('form-data', 'form-data2') },
    status: 415,
    code: 'multipart_required',
    path: 'Content-Type',
  },
  {
    what: 'a compressed body',
    form: formOf(document, file),
    headers: { 'content-encoding': 'gzip' },
    status: 415,
    code: 'multipart_required',
    path: 'Content-Encoding',
  },
  {
    what: 'no boundary',
    form: formOf(document, file),
    headers: { 'content-type': 'multipart/form-data' },
    path: 'Content-Type',
  },
  {
    what: 'an empty boundary',
    form: formOf(document, file),
    headers: { 'content-type': 'multipart/form-data; boundary=""' },
    path: 'Content-Type',
  },
  {
    what: 'a boundary that is too long',
    form: formOf(document, file),
    headers: { 'content-type': `multipart/form-data; boundary=${'a'.repeat(300)}` },
    path: 'Content-Type',
  },
  {
    what: 'a wrong boundary',
    form: formOf(document, file),
    headers: { 'content-type': 'multipart/form-data; boundary=other' },
    path: 'form',
  },
];
