// Parses and validates the bytes of a verified report, its facts apart from the rest. Nothing behind it sees the startId:
// whoever knows it can report as that process.
import { type Facts, factsSchema } from "../../shared/protocol/facts.ts";
import { type Report, reportSchema } from "../../shared/protocol/report.ts";
import { canonicalJson } from "../../shared/protocol/digest.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { digestOf } from "../identity/jwt.ts";
import type { BodyFault, Refusal } from "./answers.ts";
import { parseBody } from "./parse-body.ts";

/** The facts that came with a report, or why they are refused; undefined: none came. */
export type ReportedFacts = Result<Facts, BodyFault> | undefined;

export interface ParsedReport {
  /** Its `startId` is the digest of the one that was sent, which is a secret of the process of the shim. */
  report: Report;
  facts: ReportedFacts;
}

/** A fault of the facts refuses the facts alone. */
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
  // Of the validated facts: unvalidated ones may be nested more deeply than canonicalJson can recurse.
  if ((await digestOf(canonicalJson(parsed.data))) !== factsDigest)
    return failure({ path: "/factsDigest", message: "not the digest of these facts" });
  return success(parsed.data);
}
