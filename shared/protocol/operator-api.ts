// What an operator asks the Worker and is answered: queries, bodies and answers, shared by its routes and the command
// line. Says nothing of who may ask. Times are RFC 3339; words that only people read are text, since a newer Worker
// may have more of them.
import * as z from "zod/mini";
import { grantShape } from "./join-tokens.ts";
import { LIMITS, PAGE_LIMITS } from "./limits.ts";

/** How many entries a page has. */
const pageLimit = z._default(
  z.coerce.number().check(z.int(), z.minimum(1), z.maximum(PAGE_LIMITS.entries)),
  PAGE_LIMITS.entriesByDefault,
);

/** The body of an approval or a rejection. RFC 7638, SHA-256. */
export const thumbprintSchema = z.strictObject({
  thumbprint: z
    .string()
    .check(z.regex(new RegExp(`^[\\w-]{${LIMITS.digestLength}}$`), "must be a key's thumbprint")),
});

const listedToken = z.object({
  /** RFC 7638 thumbprint of the token's public key. */
  id: z.string(),
  names: z.string(),
  rejoin: z.boolean(),
  uses: z.number(),
  /** Machines that enrolled with it; a machine counts once. */
  used: z.number(),
  /** Uses that are kept for machines that wait for an operator. */
  reserved: z.number(),
  /** valid, used up, expired, revoked */
  state: z.string(),
  createdAt: z.string(),
  createdBy: z.string(),
  expiresAt: z.string(),
  revokedAt: z.optional(z.string()),
  ...grantShape,
});
/** A token as it is listed: never its secret. */
export type ListedToken = z.infer<typeof listedToken>;

/** 201 to POST /v1/tokens: the only answer that holds the secret. */
export const mintedTokenSchema = z.extend(listedToken, { token: z.string() });
export type MintedToken = z.infer<typeof mintedTokenSchema>;

/** 200 to GET /v1/tokens; newest first. */
export const tokensSchema = z.object({ tokens: z.array(listedToken) });
export type TokensAnswer = z.infer<typeof tokensSchema>;

const shownMachineShape = {
  thumbprint: z.string(),
  machineID: z.string(),
  systemUUID: z.string(),
  address: z.string(),
};
const shownMachine = z.object(shownMachineShape);
/** A machine's key, and where it came from. */
export type ShownMachine = z.infer<typeof shownMachine>;

const pendingMachine = z.object({
  name: z.string(),
  /** ID of the join token. */
  token: z.string(),
  ...shownMachineShape,
  askedAt: z.string(),
  expiresAt: z.string(),
  /** The machine that has the name now; null: it is free by now. */
  pinned: z.nullable(z.extend(shownMachine, { pinnedAt: z.string(), hasReported: z.boolean() })),
});
/** A machine that waits for a name that another key has. */
export type PendingMachine = z.infer<typeof pendingMachine>;

/** 200 to GET /v1/pending; oldest first. */
export const pendingSchema = z.object({ pending: z.array(pendingMachine) });
export type PendingAnswer = z.infer<typeof pendingSchema>;

/** The query of GET /v1/audit. */
export const auditQuerySchema = z.strictObject({
  /** Only what came before the entry of this ID: the next page. */
  before: z.optional(z.coerce.number().check(z.int(), z.minimum(1))),
  limit: pageLimit,
});
export type AuditQuery = z.infer<typeof auditQuerySchema>;

const auditEntry = z.object({
  id: z.number(),
  at: z.string(),
  /** An operator (`admin secret`, `alice@example.com`), `token ID`, or `machine THUMBPRINT`. */
  who: z.string(),
  /** `machine.enrol` */
  what: z.string(),
  /** A Node's name, or a token's ID. */
  target: z.string(),
  detail: z.string(),
});
export type AuditEntry = z.infer<typeof auditEntry>;

/** 200 to GET /v1/audit; newest first. */
export const auditSchema = z.object({ entries: z.array(auditEntry) });
export type AuditAnswer = z.infer<typeof auditSchema>;

const originUse = z.object({
  origin: z.string(),
  /** Is it one of ORIGINS? Machines that know only others are refused. */
  isConfigured: z.boolean(),
  /** To within a day; null: no machine ever has. */
  lastUsedAt: z.nullable(z.string()),
  /** How many machines used it last, of all origins. */
  machines: z.number(),
});
export type OriginUse = z.infer<typeof originUse>;

/** 200 to GET /v1/origins; the configured ones first. */
export const originsSchema = z.object({ origins: z.array(originUse) });
export type OriginsAnswer = z.infer<typeof originsSchema>;

/** The query of GET /v1/origins/machines. */
export const originMachinesQuerySchema = z.strictObject({
  origin: z.string().check(z.minLength(1)),
  /** Only names that sort behind this one: the next page. */
  after: z._default(z.string(), ""),
  limit: pageLimit,
});
export type OriginMachinesQuery = z.infer<typeof originMachinesQuerySchema>;

const originMachine = z.object({
  name: z.string(),
  /** To within a day. */
  lastUsedAt: z.string(),
});
export type OriginMachine = z.infer<typeof originMachine>;

/** 200 to GET /v1/origins/machines; by name. */
export const originMachinesSchema = z.object({ machines: z.array(originMachine) });
export type OriginMachinesAnswer = z.infer<typeof originMachinesSchema>;

export const HISTORY_KINDS = [
  "registration",
  "identity",
  "phase",
  "condition",
  "reboot",
  "version",
  "capacity",
  "address",
  "runtime",
  "cloud",
  "hardware",
  "silence",
  "apiserver",
  "clock",
] as const;
export type HistoryKind = (typeof HISTORY_KINDS)[number];

/** The query of GET /v1/nodes/{name}/history. */
export const historyQuerySchema = z.strictObject({
  /** RFC 3339: only what came after. */
  since: z.optional(z.iso.datetime({ offset: true })),
  kind: z.optional(z.enum(HISTORY_KINDS)),
  limit: pageLimit,
});
export type HistoryQuery = z.infer<typeof historyQuerySchema>;

const historyEntry = z.object({
  /** With milliseconds. */
  at: z.string(),
  /** One of HISTORY_KINDS. */
  kind: z.string(),
  /** `Ready became False: node is shutting down`. */
  text: z.string(),
});
export type HistoryEntry = z.infer<typeof historyEntry>;

/** 200 to GET /v1/nodes/{name}/history; newest first. */
export const historySchema = z.object({ entries: z.array(historyEntry) });
export type HistoryAnswer = z.infer<typeof historySchema>;

/** 200 to GET /v1/nodes/{name}/clones. */
export const sendersSchema = z.object({
  /** null: there is one sender, as far as is known. */
  double: z.nullable(
    z.object({
      /** cloned, two shims */
      phase: z.string(),
      since: z.string(),
      lastTurn: z.string(),
      turns: z.number(),
    }),
  ),
  /** The latest ones, newest first. */
  senders: z.array(
    z.object({
      machineID: z.string(),
      bootID: z.string(),
      startId: z.string(),
      /** When it began to report, or took turns last. */
      since: z.string(),
      isBelieved: z.boolean(),
    }),
  ),
});
export type ListedSenders = z.infer<typeof sendersSchema>;
