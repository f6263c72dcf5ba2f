/** A JSON Schema of the API document, which `simplify` changes in place. */
interface Shown {
  readonly jsonSchema: Record<string, unknown>;
}

const largestInt32 = 2 ** 31 - 1;
/** Formats that say more to people and generators than the pattern that zod adds to them. */
const speakingFormats: ReadonlySet<unknown> = new Set(['uuid', 'date-time', 'email']);
/** Base64 with padding (RFC 4648 §4), in syntax that all regular expression engines share. */
const base64Pattern = '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$';

/** Changes a schema to what people read and generators of clients understand. */
export function simplify({ jsonSchema }: Shown): void {
  if (speakingFormats.has(jsonSchema.format)) delete jsonSchema.pattern;
  if (jsonSchema.contentEncoding === 'base64') {
    delete jsonSchema.format;
    jsonSchema.pattern = base64Pattern;
  }
  // The Java generator cannot compile a constant that is no text or number.
  if (typeof jsonSchema.const === 'boolean') delete jsonSchema.const;
  if (jsonSchema.type === 'integer') simplifyInteger(jsonSchema);
  // The names of the members of every JSON object are strings.
  if (isPlainString(jsonSchema.propertyNames)) delete jsonSchema.propertyNames;
}

/** Drops the bounds of all safe integers, and adds the format that generators need. */
function simplifyInteger(schema: Record<string, unknown>): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  const { maximum } = schema;
  schema.format = typeof maximum === 'number' && maximum <= largestInt32 ? 'int32' : 'int64';
}

function isPlainString(schema: unknown): boolean {
  return JSON.stringify(schema) === '{"type":"string"}';
}
