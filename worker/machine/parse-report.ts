// From the bytes of a verified report to what it says: parsed, validated, its facts apart from its vitals.
import { type Facts, factsSchema } from "../../shared/protocol/facts.ts";
import { type Grant, grantFault } from "../../shared/protocol/join-tokens.ts";
import { canonicalJson, firstFault, type Report, reportSchema } from "../../shared/protocol/report.ts";
import { sha256Base64url } from "../identity/jwt.ts";

export interface Fault {
  /** JSON Pointer. */
  path: string;
  message: string;
}

/** The facts that came with a report: none, good ones, or ones that were refused. */
export type ReportedFacts =
  { kind: "none" } | { kind: "good"; facts: Facts } | { kind: "refused"; fault: Fault };

export type ParsedReport =
  | { kind: "report"; report: Report; facts: ReportedFacts }
  | { kind: "not JSON" }
  | { kind: "invalid"; fault: Fault };

/** Changes nothing. A fault of the facts refuses the facts alone. */
export async function parseReport(body: Uint8Array<ArrayBuffer>): Promise<ParsedReport> {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(body));
  } catch {
    return { kind: "not JSON" };
  }
  const parsed = reportSchema.safeParse(json);
  if (!parsed.success) return { kind: "invalid", fault: firstFault(parsed.error) };
  const report = parsed.data;
  return { kind: "report", report, facts: await parseFacts(report) };
}

async function parseFacts({ facts, factsDigest }: Report): Promise<ReportedFacts> {
  if (facts === undefined) return { kind: "none" };
  const parsed = factsSchema.safeParse(facts);
  if (!parsed.success) {
    const { path, message } = firstFault(parsed.error);
    return { kind: "refused", fault: { path: `/facts${path}`, message } };
  }
  // Of what the schema let through: anything may be nested deeper than a recursion can go.
  const canonical = new TextEncoder().encode(canonicalJson(parsed.data));
  if ((await sha256Base64url(new Uint8Array(canonical))) !== factsDigest) {
    return { kind: "refused", fault: { path: "/factsDigest", message: "not the digest of these facts" } };
  }
  return { kind: "good", facts: parsed.data };
}

/** Facts that go beyond what the machine's join token allows are refused as well. */
export function withinGrant(reported: ReportedFacts, grant: Grant): ReportedFacts {
  if (reported.kind !== "good") return reported;
  const fault = grantFault(grant, reported.facts.settings);
  if (fault === null) return reported;
  return { kind: "refused", fault: { ...fault, path: `/facts/settings${fault.path}` } };
}
