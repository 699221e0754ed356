// Sends a report over the wire, with any signature and any ticket.
import { sha256Base64url, signReport } from "../../../node-shim/worker-link/sign.ts";
import { canonicalJson } from "../../../shared/protocol/digest.ts";
import type { Report } from "../../../shared/protocol/report.ts";
import { ORIGIN } from "./constants.ts";
import { type EnrolledMachine, facts, HEALTHY } from "./machine.ts";

export function reportOf(name: string, more: Partial<Report> = {}): Report {
  const reported = facts(name);
  return {
    protocol: 1,
    startId: "start-1",
    machineTime: "2026-01-02T03:04:05Z",
    vitals: HEALTHY,
    factsDigest: sha256Base64url(canonicalJson(reported)),
    facts: reported,
    ...more,
  };
}

export const reportBody = (name: string) => JSON.stringify(reportOf(name));

export async function reportHeaders(
  { name, key, kid }: Omit<EnrolledMachine, "ticket">,
  body: string,
  { ticket = "", n = 1, aud = ORIGIN }: { ticket?: string; n?: number; aud?: string } = {},
): Promise<Record<string, string>> {
  const claims = { sub: name, aud, body: sha256Base64url(body), ticket, n };
  return { authorization: `Bearer ${await signReport(key, kid, claims)}` };
}
