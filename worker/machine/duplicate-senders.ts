// Who reports with this machine's key: kept in memory with each report and in SQLite when it changes, and told to
// operators, in history and as events. Decides nothing itself (shared/node/duplicate-senders.ts).
import {
  believes,
  type DoublePhase,
  inForce,
  isWorthARow,
  NOTHING_SEEN,
  type Sender,
  sight,
  sightFork,
  type Sightings,
} from "../../shared/node/duplicate-senders.ts";
import { machineIDsSchema } from "../../shared/protocol/facts.ts";
import type { Report } from "../../shared/protocol/report.ts";
import type { Journal } from "../storage/journal.ts";
import type { NodeRecordStore } from "../storage/records.ts";

/** The answer of GET /v1/nodes/{name}/clones; times are RFC 3339. */
export interface ListedSenders {
  /** null: there is one sender, as far as is known. */
  double: { phase: DoublePhase; since: string; lastTurn: string; turns: number } | null;
  /** Those of late, newest first; `since`: when it began to report, or took turns last. */
  senders: (Sender & { since: string; isBelieved: boolean })[];
}

/** For the machine's operator. */
export interface ToldDouble {
  phase: DoublePhase;
  message: string;
}

export interface Clones {
  /** Takes note of who sends a report. False: not told by it, since its facts are not known. `leaseMs`: see shared/clones. */
  sight: (report: Report, nowMs: number, leaseMs: number) => boolean;
  /** Stores what `sight` took note of, in the transaction of what else a report changes. */
  keep: (nowMs: number) => void;
  /** Takes note of a request that only a second holder of the key can have signed. */
  sightFork: (report: Report, nowMs: number) => void;
  /** Why this process's reports are not acted on, at this time; undefined: they are. */
  disbelief: (startId: string, nowMs: number) => ToldDouble | undefined;
  /** Whose facts have this digest? Not asked for again from those who are not believed. */
  knows: (factsDigest: string) => boolean;
  /** undefined: there is one sender, as far as is known. */
  told: (nowMs: number) => ToldDouble | undefined;
  /** An operator says that it is over; false: there was nothing. */
  end: (nowMs: number) => boolean;
  /** Another machine has the name. */
  forget: () => void;
  list: (nowMs: number) => ListedSenders;
}

type IDs = Omit<Sender, "startId">;
const UNKNOWN: IDs = { machineID: "", bootID: "" };

/** Of several machines, and of each while its facts change. */
const MAX_DIGESTS = 256;

const EVENTS: Record<DoublePhase, string> = { cloned: "MachineCloned", "two shims": "TwoShims" };
const TOLD: Record<DoublePhase, string> = {
  cloned:
    "Several machines report with one key (a copied disk or image?), and none of them is believed. " +
    "Give each copy an empty state folder and a join token; an operator can end it then.",
  "two shims":
    "Several processes of the shim report for this machine, and one of them is believed. Stop the others.",
};

export function machineClones(records: NodeRecordStore, journal: Journal): Clones {
  let seen = records.get("sightings") ?? NOTHING_SEEN;
  const senders = knownSenders(records, () => seen.turns.at(-1));

  const keep = (nowMs: number) => {
    if (isWorthARow(records.get("sightings"), seen, nowMs)) records.put("sightings", seen);
  };

  const put = (next: Sightings, nowMs: number, why = "nobody has taken turns for long") => {
    const before = seen.double?.phase;
    seen = next;
    const phase = next.double?.phase;
    if (phase === before) return;
    keep(nowMs);
    if (phase) journal.warn(EVENTS[phase], described(next), nowMs, "identity");
    else journal.note("identity", `no longer ${before}: ${why}`, nowMs);
  };

  const told = (nowMs: number): ToldDouble | undefined => {
    const now = inForce(seen, nowMs);
    if (now !== seen) put(now, nowMs);
    return seen.double && { phase: seen.double.phase, message: TOLD[seen.double.phase] };
  };

  return {
    sight(report, nowMs, leaseMs) {
      const sender = senders.of(report);
      if (sender) put(sight(seen, sender, nowMs, leaseMs), nowMs);
      return sender !== undefined;
    },
    keep,
    sightFork(report, nowMs) {
      const sender = senders.of(report);
      if (sender) put(sightFork(seen, sender, nowMs), nowMs);
      keep(nowMs);
    },
    knows: senders.knows,
    disbelief(startId, nowMs) {
      const double = told(nowMs);
      return believes(seen, startId) ? undefined : double;
    },
    told,
    end(nowMs) {
      if (!inForce(seen, nowMs).double) return false;
      put(NOTHING_SEEN, nowMs, "an operator has ended it");
      return true;
    },
    forget() {
      seen = NOTHING_SEEN;
      senders.forget();
      records.remove("sightings");
    },
    list: (nowMs) => listed(inForce(seen, nowMs)),
  };
}

/** Whose facts they are, by their digest. An eviction loses it: facts are asked for again. */
function knownSenders(records: NodeRecordStore, lastTurn: () => IDs | undefined) {
  const senders = new Map<string, IDs>();
  return {
    /** undefined: facts that are not known. */
    of({ facts, factsDigest, startId }: Report): Sender | undefined {
      const stored = records.get("facts");
      // What cannot be read says nothing new.
      const last = stored?.facts.machine ?? lastTurn() ?? UNKNOWN;
      const sent =
        facts === undefined ? undefined : (machineIDsSchema.safeParse(facts).data?.machine ?? last);
      const known = stored?.digest === factsDigest ? last : senders.get(factsDigest);
      const ids = sent ?? known;
      if (!ids) return undefined;
      const { machineID, bootID } = ids;
      if (sent) senders.set(factsDigest, { machineID, bootID });
      if (senders.size > MAX_DIGESTS) senders.delete(senders.keys().next().value ?? "");
      return { machineID, bootID, startId };
    },
    knows: (factsDigest: string) => senders.has(factsDigest) || records.get("facts")?.digest === factsDigest,
    forget: () => senders.clear(),
  };
}

function described({ double, turns }: Sightings): string {
  if (double?.phase === "two shims") return TOLD["two shims"];
  const machines = [...new Set(turns.map(({ machineID, bootID }) => `machine ${machineID}, boot ${bootID}`))];
  // Of many machines two are enough to tell what it is about.
  return `${machines.slice(-2).join("; ")}: several machines report with one key, and none is believed`;
}

function listed(seen: Sightings): ListedSenders {
  const { double, turns } = seen;
  const at = (ms: number) => new Date(ms).toISOString();
  const senders = new Map<string, ListedSenders["senders"][number]>();
  for (const { sinceMs, ...sender } of turns.toReversed()) {
    const key = JSON.stringify(sender);
    if (senders.has(key)) continue;
    senders.set(key, { ...sender, since: at(sinceMs), isBelieved: believes(seen, sender.startId) });
  }
  return {
    double: double
      ? {
          phase: double.phase,
          since: at(double.sinceMs),
          lastTurn: at(double.lastTurnMs),
          turns: double.turns,
        }
      : null,
    senders: [...senders.values()],
  };
}
