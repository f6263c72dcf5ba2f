export interface ParsedMessage {
  /** Unfolded and in order; names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly text: string;
  readonly html: string;
}

/** Reads a multipart/alternative message as a mail program does. Throws if it has another type. */
export function parseMessage(raw: string): ParsedMessage {
  const { headers, body } = parsePart(raw);
  const type = valueOf(headers, 'content-type');
  const boundary = /^multipart\/alternative; boundary="([^"]+)"$/.exec(type)?.[1];
  if (boundary === undefined) throw new Error(`not multipart/alternative: ${type}`);
  const parts = body.split(`--${boundary}`);
  if (parts.length !== 4 || parts[3]?.trim() !== '--')
    throw new Error('the message should have two parts');
  const [text, html] = parts.slice(1, 3).map((part) => parsePart(part.replace(/^\r\n/, '')));
  return { headers, text: content(text, 'text/plain'), html: content(html, 'text/html') };
}

export function valueOf(headers: ParsedMessage['headers'], name: string): string {
  const values = headers.filter(([other]) => other === name).map(([, value]) => value);
  if (values.length !== 1) throw new Error(`the part has ${values.length} headers named ${name}`);
  return values[0] ?? '';
}

interface Part {
  readonly headers: ParsedMessage['headers'];
  readonly body: string;
}

function parsePart(raw: string): Part {
  const end = raw.indexOf('\r\n\r\n');
  const lines = raw
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { headers, body: raw.slice(end + 4) };
}

function content(part: Part | undefined, type: string): string {
  if (part === undefined || !valueOf(part.headers, 'content-type').startsWith(`${type};`)) {
    throw new Error(`the message has no part of type ${type}`);
  }
  const encoding = valueOf(part.headers, 'content-transfer-encoding');
  if (encoding === '7bit') return part.body;
  if (encoding !== 'quoted-printable') throw new Error(`unknown transfer encoding: ${encoding}`);
  const bytes = part.body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
