import { z } from 'zod';
import { readJsonFile } from '../../json/json-file.ts';
import { ClaimPath } from './claims.ts';

/** `[::1]` is how URL writes it. */
const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

const Name = z.string().min(1).max(255);
const Names = z.array(Name);
const Seconds = z.int().positive().max(86_400);
const HttpUrl = z
  .url({ protocol: /^https?$/ })
  .refine((value) => isBare(URL.parse(value)), 'must have neither credentials nor a fragment');

const KeyCache = z
  .strictObject({
    /** How long keys are used after they were last fetched: one fetch that fails is no harm. */
    maxAgeSeconds: Seconds.default(3_600),
    refreshSeconds: Seconds.default(300),
    /** Between two fetches for keys that tokens name and the cache lacks. */
    coolDownSeconds: Seconds.default(30),
  })
  .refine(
    ({ maxAgeSeconds, refreshSeconds }) => maxAgeSeconds >= 2 * refreshSeconds,
    'maxAgeSeconds is below twice refreshSeconds',
  );

/** What is no URL at all is another problem. */
function isBare(url: URL | null): boolean {
  return url === null || (url.username === '' && url.password === '' && url.hash === '');
}

/** Over plain http, whoever sits between can put in keys of their own. */
const Addresses = z.object({
  issuer: HttpUrl,
  jwksUri: HttpUrl,
  allowInsecureHttp: z.boolean().default(false),
});

const IssuerConfig = z
  .strictObject({
    /** The tokens' `iss`, to the letter. */
    ...Addresses.shape,
    /** What the tokens' `aud` must name. */
    audience: Name,
    claims: z
      .strictObject({
        subject: ClaimPath.prefault('sub'),
        roles: ClaimPath.prefault('authz.roles'),
        scopes: ClaimPath.prefault('authz.scopes'),
        tenant: ClaimPath.prefault('tenant_id'),
        plan: ClaimPath.prefault('plan'),
        session: ClaimPath.prefault('sid'),
      })
      .prefault({}),
    /** The most that a token of this issuer may claim; the rest of its claims is passed over. */
    grants: z.strictObject({ roles: Names, scopes: Names, tenants: Names }),
    /** In place of the claim. */
    tenant: Name.optional(),
    /** In place of the claim. */
    plan: Name.optional(),
    keyCache: KeyCache.prefault({}),
  })
  .superRefine(
    (config, context) => {
      const { allowInsecureHttp, ...addresses } = Addresses.parse(config);
      if (allowInsecureHttp) return;
      for (const [name, address] of Object.entries(addresses)) {
        const { protocol, hostname } = new URL(address);
        if (protocol === 'https:' || loopback.test(hostname)) continue;
        const message = 'needs https, or allowInsecureHttp';
        context.addIssue({ code: 'custom', path: [name], message });
      }
    },
    // Told together with the problems of other fields.
    { when: ({ value }) => Addresses.safeParse(value).success },
  );

export type IssuerConfig = z.output<typeof IssuerConfig>;

interface IssuersFile {
  readonly issuers: readonly IssuerConfig[];
  /** One line each, naming fields and never values. With any, there are no issuers. */
  readonly problems: readonly string[];
}

/** Reads the JSON array of issuers that are trusted beside our own. */
export function readIssuers(file: string, ownIssuer: string): IssuersFile {
  const read = readJsonFile(file);
  if ('problem' in read) return { issuers: [], problems: [read.problem] };
  const { json } = read;
  const parsed = z.array(IssuerConfig).safeParse(json);
  const problems = [
    ...(parsed.error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`),
    ...repeatedIssuers(json, ownIssuer),
  ];
  return { issuers: problems.length === 0 ? (parsed.data ?? []) : [], problems };
}

const Named = z.object({ issuer: z.string() });

/** Nobody but we may speak for our own issuer, and each issuer has one set of rules. */
function repeatedIssuers(json: unknown, ownIssuer: string): string[] {
  if (!Array.isArray(json)) return [];
  const places = json.map((item) => place(Named.safeParse(item).data?.issuer));
  return places.flatMap((at, index) => {
    if (at === undefined) return [];
    if (at === place(ownIssuer)) return [`${index}.issuer: is this vault itself`];
    return places.indexOf(at) < index ? [`${index}.issuer: is listed twice`] : [];
  });
}

/** The same for two spellings of one URL. */
function place(issuer: string | undefined): string | undefined {
  return issuer === undefined ? undefined : URL.parse(issuer)?.href.replace(/\/+$/, '');
}
