// Leaves out facts that the Worker does not know. An earlier Worker refuses all facts for one unknown field, and names it.
import type { ReportAnswer } from "../../shared/protocol/answers.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import type { Result } from "../../shared/result.ts";
import { MAX_CHALLENGES, type RequestFault } from "./exchange.ts";

const FACTS = "/facts/";
/** The text of all Workers for a field that their schema does not have. */
const UNKNOWN_FIELD = "unknown field";
/** The most fields that are left out, so that no server fills the memory. */
const MOST = 32;
/** The time after which a field is sent again over HTTP: the Worker may have been upgraded. */
const FORGOTTEN_AFTER_MS = 6 * 3_600_000;

type ReportFacts = (facts: Facts | null, vitals: Vitals) => Promise<Result<ReportAnswer, RequestFault>>;

/** The reporter's link, with its open socket; null if reports go by HTTP. */
interface Link {
  socket: () => object | null;
}

/** Returns `report` without the facts that the Worker does not know. */
export function withoutUnknown(
  report: ReportFacts,
  nowMs: () => number, // typically monotonicMs
  link: Link | undefined,
): ReportFacts {
  const unknown = new UnknownFacts(nowMs, link);
  return async (facts, vitals) => {
    // Not more repetitions at once: a gateway limits reports.
    for (let repetitions = 0; ; repetitions++) {
      const outcome = await report(facts && unknown.without(facts), vitals);
      if (!outcome.ok || !unknown.learn(outcome.value) || repetitions >= MAX_CHALLENGES) return outcome;
    }
  };
}

class UnknownFacts {
  readonly #nowMs: () => number;
  readonly #link: Link | undefined;
  /** The socket over which the last field was named; null for HTTP. */
  #learnedOver: object | null = null;
  /** The unknown fields as paths in the facts, and when the first was named. */
  readonly #paths = new Map<string, string[]>();
  #sinceMs = 0;

  constructor(nowMs: () => number, link: Link | undefined) {
    this.#nowMs = nowMs;
    this.#link = link;
  }

  /** Notes the field that an answer refuses. Returns true if the facts without it have to follow. */
  learn({ factsRefused }: ReportAnswer): boolean {
    if (factsRefused?.message !== UNKNOWN_FIELD || !factsRefused.path.startsWith(FACTS)) return false;
    const pointer = factsRefused.path.slice(FACTS.length);
    // In a list, the field is left out of each entry.
    const path = pointer.split("/").map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
    const name = path.map((key) => (/^\d+$/.test(key) ? "*" : key)).join("/");
    if (this.#paths.has(name) || this.#paths.size >= MOST) return false;
    if (this.#paths.size === 0) this.#sinceMs = this.#nowMs();
    this.#paths.set(name, path);
    this.#learnedOver = this.#link?.socket() ?? null;
    return true;
  }

  /** Returns the facts that the Worker knows. */
  without(facts: Facts): Facts {
    if (this.#paths.size === 0) return facts;
    // A deploy closes all sockets, so that a new one may be a later Worker's.
    const socket = this.#link?.socket() ?? null;
    const isNew = socket !== null && socket !== this.#learnedOver;
    if (isNew || this.#nowMs() - this.#sinceMs >= FORGOTTEN_AFTER_MS) this.#paths.clear();
    return [...this.#paths.values()].reduce<unknown>(without, facts) as Facts;
  }
}

/** Returns a copy of the value without the field at this path. */
function without(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (typeof value !== "object" || value === null || key === undefined) return value;
  if (Array.isArray(value)) return value.map((entry) => without(entry, rest));
  if (!Object.hasOwn(value, key)) return value;
  const { [key]: field, ...others } = value as Record<string, unknown>;
  return rest.length === 0 ? others : { ...others, [key]: without(field, rest) };
}
