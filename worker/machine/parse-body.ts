// Validates a verified request's body: a report or a rotation. Validates the facts apart from their report.
import type * as z from "zod/mini";
import { rotationSchema } from "../../shared/protocol/claims.ts";
import { canonicalJson } from "../../shared/protocol/digest.ts";
import { type Facts, factsSchema } from "../../shared/protocol/facts.ts";
import { type Report, reportSchema } from "../../shared/protocol/report.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { digestOf, verifyNextKey } from "../identity/jwt.ts";
import type { PublicKey } from "../storage/records.ts";
import type { BodyFault, Refusal } from "./answers.ts";
import type { SignedRequest } from "./pinned-keys.ts";

export function parseBody<Schema extends z.ZodMiniType>(
  schema: Schema,
  body: Uint8Array<ArrayBuffer>,
): Result<z.output<Schema>, Refusal> {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(body));
  } catch {
    return failure({ reason: "invalid-json" });
  }
  const parsed = schema.safeParse(json);
  return parsed.success
    ? success(parsed.data)
    : failure({ reason: "invalid-body", fault: firstFault(parsed.error) });
}

/** The facts in a report, or the reason why they are refused; undefined if the report has no facts. */
export type ReportedFacts = Result<Facts, BodyFault> | undefined;

export interface ParsedReport {
  /** The report with a digest in place of the secret `startId`, whose holder can report as that process. */
  report: Report;
  facts: ReportedFacts;
}

/** Parses a report. A fault in the facts refuses only the facts, not the report. */
export async function parseReport(body: Uint8Array<ArrayBuffer>): Promise<Result<ParsedReport, Refusal>> {
  const parsed = parseBody(reportSchema, body);
  if (!parsed.ok) return parsed;
  const sent = parsed.value;
  const report = { ...sent, startId: await digestOf(sent.startId) };
  return success({ report, facts: await parseFacts(report) });
}

async function parseFacts({ facts, factsDigest }: Report): Promise<ReportedFacts> {
  if (facts === undefined) return undefined;
  const parsed = factsSchema.safeParse(facts);
  if (!parsed.success) {
    const { path, message } = firstFault(parsed.error);
    return failure({ path: `/facts${path}`, message });
  }
  // The digest is of validated facts: invalid facts may be nested more deeply than canonicalJson can recurse.
  if ((await digestOf(canonicalJson(parsed.data))) !== factsDigest)
    return failure({ path: "/factsDigest", message: "not the digest of these facts" });
  return success(parsed.data);
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
