// Sends a hostile machine's reports, correctly signed, with its current ticket, and records each answer. Other
// files decide the content.
import type { MachineKey } from "../../../../node-shim/identity/identity.ts";
import type { Transport } from "../../../../node-shim/worker-link/exchange.ts";
import { sha256Base64url, signReport } from "../../../../node-shim/worker-link/sign.ts";
import type { Problem, ReportAnswer } from "../../../../shared/protocol/answers.ts";
import { QUESTIONS_HEADER } from "../../../../shared/protocol/asking.ts";
import { JWT_TYPES } from "../../../../shared/protocol/claims.ts";
import { canonicalJson } from "../../../../shared/protocol/digest.ts";
import { PROTOCOL } from "../../../../shared/protocol/report.ts";
import { HostileAnswers, NAMED } from "./answers.ts";
import type { Draft } from "./draft.ts";
import { played, type Surroundings, type Trick } from "./tricks.ts";

/** The answer to a report. `status` is 0 if there was no answer. */
export type Answer = { status: number; retryAfterMs: number } & Partial<Problem & ReportAnswer>;

export interface Credentials {
  name: string;
  origin: string;
  key: MachineKey;
  kid: string;
  ticket: string;
}

export interface Sender {
  /** The answers to the questions that came with the answers to reports. */
  answers: HostileAnswers;
  report: (
    draft: Draft,
    played?: { trick: Trick; surroundings: Omit<Surroundings, "older"> },
  ) => Promise<Answer>;
}

/** The number of old tickets that are kept for later use. */
const OLDER = 8;
/**
 * The n of a report's first attempt. A rotation is signed for n = 1 of any ticket, so a second report with n = 1
 * looks like a copy's.
 */
const FIRST_N = 1;
/** The number of challenges in a row that the machine answers at once, like a shim. */
const CHALLENGES = 2;

export function sender(credentials: Credentials, send: Transport): Sender {
  const { name, origin, key, kid } = credentials;
  const path = `/v1/nodes/${name}/report`;
  let { ticket } = credentials;
  let n = FIRST_N;
  const older: string[] = [];
  let knownDigest = "";
  let last: { body: string; authorization: string } | undefined;
  const answers = new HostileAnswers(credentials, send, answerOf);

  async function post(body: string, authorization: string): Promise<Answer> {
    const headers = { "content-type": "application/json", authorization, [QUESTIONS_HEADER]: NAMED };
    const answer = await answerOf(send({ method: "POST", path, headers, body }));
    answers.take(answer.questions);
    if (answer.ticket && answer.ticket !== ticket) {
      older.unshift(ticket);
      older.length = Math.min(older.length, OLDER);
      ticket = answer.ticket;
      n = FIRST_N;
    }
    return answer;
  }

  return {
    answers,
    async report(draft, how) {
      if (how?.trick === "the same again" && last) return post(last.body, last.authorization);
      const { startId, vitals, facts, padTo } = draft;
      const factsDigest = sha256Base64url(canonicalJson(facts));
      let withFacts = factsDigest !== knownDigest;
      for (let challenges = 0; ; challenges++) {
        const machineTime = new Date().toISOString();
        const said = { protocol: PROTOCOL, startId, machineTime, vitals, factsDigest };
        const body = JSON.stringify({ ...said, ...(withFacts && { facts }) }).padEnd(padTo);
        const honest = { sub: name, aud: origin, body: sha256Base64url(body), ticket, n: ++n };
        const plain = { typ: JWT_TYPES.report, claims: honest };
        // Only the first attempt is a trick: after a challenge the machine sends what the Worker requires.
        const signed =
          how && challenges === 0 ? played(how.trick, plain, { ...how.surroundings, older }) : plain;
        const authorization = `Bearer ${await signReport(key, kid, signed.claims, signed.typ)}`;
        last = { body, authorization };
        const answer = await post(body, authorization);
        if (answer.status === 200) knownDigest = factsDigest;
        const isAsked = answer.reason === "ticket-stale" || answer.reason === "facts-unknown";
        if (!isAsked || challenges >= CHALLENGES) return answer;
        withFacts ||= answer.reason === "facts-unknown" || answer.factsWanted === true;
      }
    },
  };
}

async function answerOf(sent: ReturnType<Transport>): Promise<Answer> {
  try {
    const { status, body, retryAfterMs = 0 } = await sent;
    return { ...(JSON.parse(body) as Partial<Answer>), status, retryAfterMs };
  } catch (error) {
    return { status: 0, retryAfterMs: 0, detail: String(error) };
  }
}
