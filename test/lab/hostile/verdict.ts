// Formats the results of hostile requests as text: the last line is the verdict. Sends nothing.
import type { Hostile } from "./generator.ts";
import type { Answered } from "./post.ts";

export interface Plan {
  requests: number;
  /** The seed, which determines the requests together with their indexes. */
  seed: number;
  /** The index of the first request that this run sends. */
  from: number;
  /** The kinds of requests: `tokens` for enrolments with invented join tokens, by default `any`. */
  of?: "any" | "tokens";
}

/** A request that the Worker should have refused. */
export interface Offence {
  what: "accepted" | "5xx" | "no answer";
  index: number;
  text: string;
}

export interface Verdict {
  plan: Plan;
  sent: number;
  /** The number of generated requests that were not sent because they were still valid. */
  discarded: number;
  /** The number of each answer, by kind of request. */
  kinds: Map<string, Map<string, number>>;
  offences: Offence[];
  /** The portions of requests during which the Worker wrote a row or sent a request to the apiserver. */
  disturbances: { from: number; to: number; rows: number; asks: number }[];
  rows: number;
  /** The number of entries in the log of refused enrolments. */
  refusals: number;
  ranMs: number;
  /** The number of requests that the Worker sent to the apiserver. */
  asked: number;
  /** The number of requests to the registry. */
  registryAsked: number;
  objectsMade: number;
  /** The memory of workerd in bytes, after each portion of requests. */
  residentBytes: number[];
  /** The SHA-256 over all generated requests of the run. */
  digest: string;
}

/** The limits of worker/registry/refusals.ts, repeated here so that a change of the original fails the verdict. */
const REFUSAL_LIMITS = { aMinute: 20, everyMs: 60_000 };

const SHOWN = 20;
const TEXT_LENGTH = 2000;
const MIB = 2 ** 20;
/**
 * The largest growth of workerd's memory. A heap fills before it is collected, throughout a short run; memory that
 * is kept for each request grows without end.
 */
const MAX_GROWTH = { ratio: 1.25, bytes: 128 * MIB };

/** Returns the offence in an answer. null if the Worker refused the request. */
export function offenceOf(hostile: Hostile, answered: Answered): Offence | null {
  if ("error" in answered) return { ...described(hostile), what: "no answer", text: answered.error };
  const { status } = answered;
  if (status >= 400 && status < 500) return null;
  const { index, text } = described(hostile);
  return { index, text: `${status} to ${text}`, what: status >= 500 ? "5xx" : "accepted" };
}

function described({ index, kind, method, path, headers, body }: Hostile): { index: number; text: string } {
  const text = `${kind}: ${method} ${path} ${JSON.stringify(headers)} ${Buffer.from(body).toString()}`;
  return { index, text: text.slice(0, TEXT_LENGTH) };
}

/** Returns the medians of workerd's memory early in the run, after its first tenth, and late in the run. */
export function memoryOf(residentBytes: readonly number[]): { early: number; late: number; isFlat: boolean } {
  const tenth = Math.max(1, Math.floor(residentBytes.length / 10));
  const median = (some: readonly number[]) =>
    some.toSorted((a, b) => a - b)[Math.floor(some.length / 2)] ?? 0;
  const early = median(residentBytes.slice(tenth - 1, 3 * tenth));
  const late = median(residentBytes.slice(-2 * tenth));
  return { early, late, isFlat: late <= early * MAX_GROWTH.ratio + MAX_GROWTH.bytes };
}

const count = ({ offences }: Verdict, what: Offence["what"]) =>
  offences.filter((offence) => offence.what === what).length;

export function isClean(verdict: Verdict): boolean {
  const { offences, rows, asked, objectsMade, residentBytes } = verdict;
  const ofRegistry = verdict.plan.of === "tokens" ? verdict.registryAsked : 0;
  const isQuiet = offences.length + rows + asked + objectsMade + ofRegistry === 0;
  return isQuiet && verdict.refusals <= mostRefusals(verdict) && memoryOf(residentBytes).isFlat;
}

/**
 * Returns the largest number of logged refusals: the log's limit for a minute, for each started minute and the
 * minute before.
 */
function mostRefusals({ ranMs }: Verdict): number {
  return REFUSAL_LIMITS.aMinute * (Math.ceil(ranMs / REFUSAL_LIMITS.everyMs) + 1);
}

/** Returns the lines of the verdict. The last one is `accepted 0, 5xx 0, rows 0` if the requests had no effect. */
export function verdictText(verdict: Verdict): string {
  const { sent, discarded, rows, refusals, asked, registryAsked, objectsMade, residentBytes, digest } =
    verdict;
  const { early, late, isFlat } = memoryOf(residentBytes);
  const memory = `${Math.round(early / MIB)} → ${Math.round(late / MIB)} MiB${isFlat ? "" : ", which is not flat"}`;
  return [
    ...kindLines(verdict),
    ...offenceLines(verdict),
    `${sent} sent, ${discarded} discarded as still valid, sha256 ${digest}`,
    `no answer ${count(verdict, "no answer")}, objects made ${objectsMade}, apiserver asked ${asked}, registry asked ${registryAsked}, refusals logged ${refusals}, memory ${memory}`,
    `accepted ${count(verdict, "accepted")}, 5xx ${count(verdict, "5xx")}, rows ${rows}`,
    "",
  ].join("\n");
}

function kindLines({ kinds }: Verdict): string[] {
  const width = Math.max(...[...kinds.keys()].map((kind) => kind.length));
  return [...kinds].map(([kind, answers]) => {
    const sorted = [...answers].sort(([a], [b]) => (a < b ? -1 : 1));
    return `${kind.padEnd(width)}  ${sorted.map(([answer, times]) => `${answer} × ${times}`).join(", ")}`;
  });
}

/** Returns a line for each offence, with the command that sends the request again. */
function offenceLines({ plan, offences, disturbances }: Verdict): string[] {
  const again = (from: number, requests: number) =>
    `npm run hostile -- --seed ${plan.seed} --from ${from} --${plan.of === "tokens" ? "tokens" : "requests"} ${requests}`;
  return [
    ...offences.slice(0, SHOWN).map(({ what, index, text }) => `${what}: ${again(index, 1)}\n  ${text}`),
    ...disturbances
      .slice(0, SHOWN)
      .map(({ from, to, rows, asks }) => `rows ${rows}, apiserver asked ${asks}: ${again(from, to - from)}`),
  ];
}
