// Finds generated frames that are not hostile: they equal what the machine has signed for this very socket and
// moment, at most in another notation. Uses the rules of docs/protocol.md, not the Worker's code.
import type { ReportFrame } from "../../../../shared/protocol/frames.ts";
import { jwtMeaning } from "../still-valid.ts";
import { reportRequest, type Shot } from "./shot.ts";
import type { Tapped } from "./tapped.ts";

/** Returns true if the frame is a withheld report, the last report, or the next heartbeat. */
export function isStillValidShot(shot: Shot, { withheld, reports, name }: Tapped): boolean {
  if ("request" in shot) {
    const { path, headers, body } = shot.request;
    const valid = reportRequest(name, withheld.overHttp);
    const token = String(headers["authorization"]).replace("Bearer ", "");
    return path === valid.path && meaningOf({ token, body: String(body) }) === meaningOf(withheld.overHttp);
  }
  if (!("text" in shot)) return false;
  const text = Buffer.from(shot.text).toString();
  if (text === withheld.beat) return true;
  const report = reportIn(text);
  const valid = [withheld.report, ...reports.slice(-1)].map(meaningOf);
  return report !== null && valid.includes(meaningOf(report));
}

const meaningOf = ({ token, body }: Omit<ReportFrame, "type">) => `${jwtMeaning(token)}\n${body}`;

function reportIn(text: string): ReportFrame | null {
  try {
    const { type, token, body, ...more } = JSON.parse(text) as Partial<ReportFrame>;
    const isReport = type === "report" && typeof token === "string" && typeof body === "string";
    return isReport && Object.keys(more).length === 0 ? { type, token, body } : null;
  } catch {
    return null;
  }
}
