// Stores samples: the latest in memory, older ones in rows that are written anyway. A waking object reads none.
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

/** The keys of rows that store samples: `node` is written on status changes, `silentSinceMs` on silence changes. */
const CARRIERS: ReadonlySet<string> = new Set(["node", "silentSinceMs"]);

/** The number of samples that are packed together, about once an hour. Packing reads all samples that are in memory. */
const PACKED_AT_ONCE = 60;

export type Samples = ReturnType<typeof machineSamples>;

/** The samples that are in memory only. */
export interface UnstoredSamples {
  packed?: Uint8Array<ArrayBuffer>;
  latest: KeptSamples;
}

type SamplesRow = { samples: ArrayBuffer };

export function machineSamples(sql: SqlStorage, tables: Tables) {
  /** The packed samples: at most 55 KB, even if the object is awake for weeks. */
  let packed: Uint8Array<ArrayBuffer> | undefined;
  /** The samples since the last packing. */
  let latest: KeptSamples = NO_SAMPLES;
  let latestS = 0;

  const pending = (nowS: number): KeptSamples =>
    joinSamples(packed ? decodeSamples(packed) : NO_SAMPLES, latest, nowS);

  return {
    /** Adds a sample. Call observe with each applied report. */
    observe({ signals }: Vitals, nowMs: number): void {
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
    /**
     * Returns the samples for the row of this key: the row's stored samples and the samples in memory; undefined if the
     * row needs no change. Samples from before `sinceMs` belong to an earlier machine of the name and are dropped.
     */
    take(key: string, sinceMs: number): Uint8Array<ArrayBuffer> | undefined {
      if (!CARRIERS.has(key) || (!packed && latest.samples.length === 0)) return undefined;
      const own = "SELECT samples FROM records WHERE key = ? AND samples IS NOT NULL";
      const [row] = sql.exec<SamplesRow>(own, key).toArray();
      const before = row ? samplesAfter(decodeSamples(row.samples), sinceMs) : NO_SAMPLES;
      const all = joinSamples(before, pending(latestS), latestS);
      packed = undefined;
      latest = { capacity: latest.capacity, samples: [] };
      return encodeSamples(all);
    },
    /** Returns all samples since `sinceMs`, newest last. */
    read(sinceMs: number, nowMs: number): KeptSamples {
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
    /** Returns the samples in memory, for the handoff state. */
    handOver: (): UnstoredSamples => ({ ...(packed && { packed }), latest }),
    /** Restores the samples of the handoff state, and adds the samples of the gateway. */
    takeBack(unstored: UnstoredSamples, meanwhile: KeptSamples): void {
      packed = unstored.packed;
      latestS = Math.max(newestS(unstored.latest), newestS(meanwhile));
      latest = joinSamples(unstored.latest, meanwhile, latestS);
    },
    /** Drops the samples in memory. Call forget when another machine has the name. */
    forget(): void {
      packed = undefined;
      latest = NO_SAMPLES;
    },
  };
}

const newestS = ({ samples }: KeptSamples) => samples.at(-1)?.atS ?? 0;
