// The samples of a machine: those of the last reports in memory, older ones in a column of rows that are written anyhow. No
// row is written for a sample, and none is read when the object wakes.
import {
  capacityAfter,
  capacityOfSignals,
  decodeSamples,
  encodeSamples,
  joinSamples,
  type KeptSamples,
  NO_SAMPLES,
  samplesAfter,
  sampleOf,
  thinned,
} from "../../shared/fleet/samples.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import type { Tables } from "./tables.ts";

/** The rows that take samples along: that of each status that changes, and of a silence that begins or ends. */
const CARRIERS: ReadonlySet<string> = new Set(["node", "silentSinceMs"]);

/** Packing looks at all that wait: once an hour it costs a report nothing to speak of. */
const PACKED_AT_ONCE = 60;

export interface Samples {
  /** Call it with each report that is applied. */
  observe: (vitals: Vitals, nowMs: number) => void;
  /**
   * What the row of this key is to have now: what it has, and what came since; undefined: leave it as it is. `sinceMs`: what
   * is older is another machine's.
   */
  take: (key: string, sinceMs: number) => Uint8Array<ArrayBuffer> | undefined;
  /** All that is known, newest last. */
  read: (sinceMs: number, nowMs: number) => KeptSamples;
  /** For the baton: what no row has. */
  handOver: () => UnstoredSamples;
  /** The same back, with what came meanwhile. */
  takeBack: (unstored: UnstoredSamples, meanwhile: KeptSamples) => void;
  /** Call it when another machine has the name. */
  forget: () => void;
}

/** What waits for a row. */
export interface UnstoredSamples {
  packed?: Uint8Array<ArrayBuffer>;
  latest: KeptSamples;
}

type SamplesRow = { samples: ArrayBuffer };

export function machineSamples(sql: SqlStorage, tables: Tables): Samples {
  /** Packed: an object that is awake for weeks has at most 55 KB of them. */
  let packed: Uint8Array<ArrayBuffer> | undefined;
  /** Those since then, so that a report costs next to nothing. */
  let latest: KeptSamples = NO_SAMPLES;
  let latestS = 0;

  const pending = (nowS: number): KeptSamples =>
    joinSamples(packed ? decodeSamples(packed) : NO_SAMPLES, latest, nowS);

  return {
    observe({ signals }, nowMs) {
      const sample = sampleOf(signals, nowMs);
      const before = latest.samples.slice(0, -1);
      const samples = [...before, ...thinned([...latest.samples.slice(-1), sample], sample.atS)];
      const capacity = capacityAfter(latest.capacity, capacityOfSignals(signals));
      latestS = sample.atS;
      latest = { capacity, samples };
      if (samples.length < PACKED_AT_ONCE) return;
      packed = encodeSamples(pending(latestS));
      latest = { capacity, samples: [] };
    },
    take(key, sinceMs) {
      if (!CARRIERS.has(key) || (!packed && latest.samples.length === 0)) return undefined;
      const own = "SELECT samples FROM records WHERE key = ? AND samples IS NOT NULL";
      const [row] = sql.exec<SamplesRow>(own, key).toArray();
      const before = row ? samplesAfter(decodeSamples(row.samples), sinceMs) : NO_SAMPLES;
      const all = joinSamples(before, pending(latestS), latestS);
      packed = undefined;
      latest = { capacity: latest.capacity, samples: [] };
      return encodeSamples(all);
    },
    read(sinceMs, nowMs) {
      const nowS = Math.floor(nowMs / 1000);
      const rows = tables.exist()
        ? sql.exec<SamplesRow>("SELECT samples FROM records WHERE samples IS NOT NULL").toArray()
        : [];
      const stored = rows
        .map(({ samples }) => decodeSamples(samples))
        .toSorted((a, b) => newestS(a) - newestS(b))
        .reduce((all, each) => joinSamples(all, samplesAfter(each, sinceMs), nowS), NO_SAMPLES);
      return joinSamples(stored, pending(nowS), nowS);
    },
    handOver: () => ({ ...(packed && { packed }), latest }),
    takeBack(unstored, meanwhile) {
      packed = unstored.packed;
      latestS = Math.max(newestS(unstored.latest), newestS(meanwhile));
      latest = joinSamples(unstored.latest, meanwhile, latestS);
    },
    forget() {
      packed = undefined;
      latest = NO_SAMPLES;
    },
  };
}

const newestS = ({ samples }: KeptSamples) => samples.at(-1)?.atS ?? 0;
