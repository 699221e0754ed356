// Validates a verified request's body: a report or a rotation. Validates the facts apart from their report.
import type * as z from "zod/mini";
import { rotationSchema } from "../../shared/protocol/claims.ts";
import { canonicalJson } from "../../shared/protocol/digest.ts";
import { type Facts, factsSchema } from "../../shared/protocol/facts.ts";
import { factsWithinSchema, vitalsWithinSchema } from "../../shared/protocol/fit.ts";
import { type Report, reportSchema } from "../../shared/protocol/report.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import { type Failure, failure, type Result, type Success, success } from "../../shared/result.ts";
import { digestOf, verifyNextKey } from "../identity/jwt.ts";
import type { PublicKey } from "../storage/records.ts";
import type { BodyFault, Refusal } from "./answers.ts";
import type { SignedRequest } from "./pinned-keys.ts";

export function parseBody<Schema extends z.ZodMiniType>(
  schema: Schema,
  body: Uint8Array<ArrayBuffer>,
): Result<z.output<Schema>, Refusal> {
  const json = jsonIn(body);
  return json.ok ? validated(schema, json.value) : json;
}

function jsonIn(body: Uint8Array<ArrayBuffer>): Result<unknown, Refusal> {
  try {
    return success(JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(body)));
  } catch {
    return failure({ reason: "invalid-json" });
  }
}

function validated<Schema extends z.ZodMiniType>(
  schema: Schema,
  json: unknown,
): Result<z.output<Schema>, Refusal> {
  const parsed = schema.safeParse(json);
  return parsed.success
    ? success(parsed.data)
    : failure({ reason: "invalid-body", fault: firstFault(parsed.error) });
}

/**
 * The facts in a report, or the reason why they are refused; undefined if the report has no facts. `fault`: the first value
 * that was limited, or whose group was left out.
 */
export type ReportedFacts = (Success<Facts> & { fault?: BodyFault }) | Failure<BodyFault> | undefined;

export interface ParsedReport {
  /** The report with a digest in place of the secret `startId`, whose holder can report as that process. */
  report: Report;
  facts: ReportedFacts;
  /** A text about the vitals that were limited; undefined if none was. */
  vitalsCut?: string;
}

/** Parses a report. A fault in the facts refuses only the facts, not the report; vitals that are too large are limited. */
export async function parseReport(body: Uint8Array<ArrayBuffer>): Promise<Result<ParsedReport, Refusal>> {
  const json = jsonIn(body);
  if (!json.ok) return json;
  const parsed = validated(reportSchema, json.value);
  if (parsed.ok) return success(await reported(parsed.value));
  const { vitals } = (json.value ?? {}) as Partial<Report>;
  if (typeof vitals !== "object" || vitals === null) return parsed;
  const fitted = vitalsWithinSchema(vitals);
  // Without its errors, or its end, a machine would be reported as well.
  if (fitted.cuts.length === 0 || fitted.cuts.some(({ isLeftOut }) => isLeftOut)) return parsed;
  const limited = validated(reportSchema, { ...(json.value as object), vitals: fitted.vitals });
  if (!limited.ok) return limited;
  return success({ ...(await reported(limited.value)), vitalsCut: `/vitals${fitted.cuts[0]?.text}` });
}

async function reported(sent: Report): Promise<ParsedReport> {
  const report = { ...sent, startId: await digestOf(sent.startId) };
  return { report, facts: await parseFacts(report) };
}

/** Fits each group of facts by itself. Only a fault of the settings or the platform refuses all facts. */
async function parseFacts({ facts, factsDigest }: Report): Promise<ReportedFacts> {
  if (facts === undefined) return undefined;
  const whole = factsSchema.safeParse(facts);
  if (whole.success) return ofDigest(whole.data, whole.data, factsDigest);
  const { path, message } = firstFault(whole.error);
  const refused = failure({ path: `/facts${path}`, message });
  if (typeof facts !== "object" || facts === null) return refused;
  const fitted = factsWithinSchema(facts);
  const parsed = factsSchema.safeParse(fitted.facts);
  const [cut] = fitted.cuts;
  if (!parsed.success || cut === undefined) return refused;
  const known = await ofDigest(parsed.data, facts, factsDigest);
  return known.ok ? { ...known, fault: { path: `/facts${cut.path}`, message: cut.message } } : known;
}

/** Returns the facts if the digest is of the facts as sent. */
async function ofDigest(facts: Facts, sent: unknown, digest: string): Promise<Result<Facts, BodyFault>> {
  let text: string | undefined;
  try {
    text = canonicalJson(sent);
  } catch {
    // The facts are nested more deeply than canonicalJson can recurse.
  }
  const isOfThese = text !== undefined && (await digestOf(text)) === digest;
  return isOfThese
    ? success(facts)
    : failure({ path: "/factsDigest", message: "not the digest of these facts" });
}

/** Returns the next key if the body has a proof that this key replaces `previous` on this machine; else null. */
export async function parseRotation(
  { name, body }: SignedRequest,
  { path, previous, origins }: { path: string; previous: string; origins: string[] },
): Promise<PublicKey | null> {
  const parsed = rotationSchema.safeParse(parseJson(body));
  if (!parsed.success) return null;
  const expected = { name, method: "POST", path, origins, previous };
  const next = await verifyNextKey(parsed.data.proof, expected);
  return next.ok ? next.value : null;
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}
