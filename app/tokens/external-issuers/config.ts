import { z } from 'zod';
import { isPlatformRole } from '../../accounts/rights.ts';
import { nobody } from '../../audit-trail/event.ts';
import { readJsonFile } from '../../json/json-file.ts';
import { isLoopback } from '../../limits/network.ts';
import { ClaimPath } from './claims.ts';

const Name = z.string().min(1).max(255);
const Names = z.array(Name);
/** Another issuer must not decide who acts in every tenant. */
const Roles = z.array(
  Name.refine((role) => !isPlatformRole(role), 'only the command line grants a platform role'),
);
/** The tenant of what belongs to no user has no users, so that no tenant's auditor reads it. */
const Tenant = Name.refine((name) => name !== nobody.tenantId, 'is a reserved tenant');
const Seconds = z.int().positive().max(86_400);
const HttpUrl = z
  .url({ protocol: /^https?$/ })
  .refine((value) => isBare(URL.parse(value)), 'must have neither credentials nor a fragment');

const KeyCache = z
  .strictObject({
    /**
     * Seconds for which keys are used after a fetch: at least two refresh intervals, so that one
     * refresh may fail.
     */
    maxAgeSeconds: Seconds.default(3_600),
    refreshSeconds: Seconds.default(300),
    /** Minimum seconds between two fetches because of tokens whose keys are not in the cache. */
    coolDownSeconds: Seconds.default(30),
  })
  .refine(
    ({ maxAgeSeconds, refreshSeconds }) => maxAgeSeconds >= 2 * refreshSeconds,
    'maxAgeSeconds must be at least twice refreshSeconds',
  );

/** Returns whether a URL has neither credentials nor a fragment; true if it is no URL at all. */
function isBare(url: URL | null): boolean {
  return url === null || (url.username === '' && url.password === '' && url.hash === '');
}

/**
 * The URLs of an issuer. Over plain http, an attacker on the network path can insert keys of their
 * own.
 */
const Urls = z.object({
  issuer: HttpUrl,
  jwksUri: HttpUrl,
  allowInsecureHttp: z.boolean().default(false),
});

const IssuerConfig = z
  .strictObject({
    /** The exact `iss` of the issuer's tokens. */
    ...Urls.shape,
    /** The audience that the tokens' `aud` must contain. */
    audience: Name,
    claims: z
      .strictObject({
        subject: ClaimPath.prefault('sub'),
        roles: ClaimPath.prefault('authz.roles'),
        scopes: ClaimPath.prefault('authz.scopes'),
        tenant: ClaimPath.prefault('tenant_id'),
        plan: ClaimPath.prefault('plan'),
        session: ClaimPath.prefault('sid'),
        authTime: ClaimPath.prefault('auth_time'),
      })
      .prefault({}),
    /**
     * The roles, scopes and tenants that tokens of this issuer may grant. Other claimed values are
     * ignored. Platform roles are refused.
     */
    grants: z.strictObject({ roles: Roles, scopes: Names, tenants: z.array(Tenant) }),
    /** The tenant of all users of this issuer. If set, the tenant claim is ignored. */
    tenant: Tenant.optional(),
    /** The plan of all users of this issuer. If set, the plan claim is ignored. */
    plan: Name.optional(),
    keyCache: KeyCache.prefault({}),
  })
  .superRefine(
    (config, context) => {
      const { allowInsecureHttp, ...urls } = Urls.parse(config);
      if (allowInsecureHttp) return;
      for (const [name, url] of Object.entries(urls)) {
        const { protocol, hostname } = new URL(url);
        if (protocol === 'https:' || isLoopback(hostname)) continue;
        const message = 'must use https unless allowInsecureHttp is set';
        context.addIssue({ code: 'custom', path: [name], message });
      }
    },
    // Reports this problem together with the problems of other fields.
    { when: ({ value }) => Urls.safeParse(value).success },
  );

export type IssuerConfig = z.output<typeof IssuerConfig>;

interface IssuersFile {
  readonly issuers: readonly IssuerConfig[];
  /**
   * The problems of the file, one line each, with field names and never values. If the file has
   * problems, `issuers` is empty.
   */
  readonly problems: readonly string[];
}

/** Reads the JSON array of the other issuers that the vault trusts. */
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

/** Lists problems: an issuer that is the vault itself, and issuers that are listed twice. */
function repeatedIssuers(json: unknown, ownIssuer: string): string[] {
  if (!Array.isArray(json)) return [];
  const urls = json.map((item) => normalise(Named.safeParse(item).data?.issuer));
  return urls.flatMap((url, index) => {
    if (url === undefined) return [];
    if (url === normalise(ownIssuer)) return [`${index}.issuer: is this vault itself`];
    return urls.indexOf(url) < index ? [`${index}.issuer: is listed twice`] : [];
  });
}

/** Returns a normal form of an issuer's URL: two spellings of one URL have the same normal form. */
function normalise(issuer: string | undefined): string | undefined {
  return issuer === undefined ? undefined : URL.parse(issuer)?.href.replace(/\/+$/, '');
}
