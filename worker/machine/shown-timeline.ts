// The timeline that a machine's object shows an operator: history as bands and marks, samples of signals, and thresholds
// for eviction.
import {
  decodeSamples,
  joinSamples,
  NO_SAMPLES,
  SAMPLED_SIGNALS,
  type SampledSignal,
  samplesAfter,
} from "../../shared/fleet/samples.ts";
import { timelineOf, type TimelineRange } from "../../shared/fleet/timeline.ts";
import { parsedSettings } from "../../shared/from-report/parsed-settings.ts";
import { valueOf } from "../../shared/kubernetes/quantity/quantity.ts";
import { TIMELINE_LIMITS } from "../../shared/protocol/limits.ts";
import type { TimelineAnswer } from "../../shared/protocol/timeline.ts";
import { type Threshold, thresholdQuantity } from "../../shared/resources/eviction.ts";
import type { ReturnedLoan } from "./lease-loan.ts";
import type { Samples } from "../storage/samples.ts";
import type { MachineState } from "./machine-state.ts";

type Capacities = Record<SampledSignal, number | null>;

const iso = (ms: number) => new Date(ms).toISOString();
const orNull = (amount: number | undefined) =>
  amount === undefined || Number.isNaN(amount) ? null : Math.round(amount);
const bySignal = <T>(of: (signal: SampledSignal, at: number) => T) =>
  Object.fromEntries(SAMPLED_SIGNALS.map((signal, at) => [signal, of(signal, at)])) as Record<
    SampledSignal,
    T
  >;

/** Adds the samples that the gateway has received under a loan. */
export function withLentSamples(
  samples: Pick<Samples, "read">,
  { baton: { samples: lent }, samples: latest }: ReturnedLoan,
): Pick<Samples, "read"> {
  return {
    read(sinceMs, nowMs) {
      const nowS = Math.floor(nowMs / 1000);
      const packed = lent.packed ? decodeSamples(lent.packed) : NO_SAMPLES;
      return [packed, lent.latest, latest]
        .map((each) => samplesAfter(each, sinceMs))
        .reduce((all, each) => joinSamples(all, each, nowS), samples.read(sinceMs, nowMs));
    },
  };
}

/** Returns null if no machine is enrolled. */
export function shownTimeline(
  {
    records,
    history,
    samples,
    facts,
  }: Pick<MachineState, "records" | "history" | "facts"> & { samples: Pick<Samples, "read"> },
  range: TimelineRange,
  nowMs: number,
): TimelineAnswer | null {
  const enrolment = records.get("enrolment");
  if (!enrolment) return null;
  const { sinceMs, untilMs } = range;
  const { lines, isCut, oldestMs } = history.around(range);
  const { bands, marks } = timelineOf(lines, range, enrolment.pinnedAtMs);
  const shown = bands.slice(-TIMELINE_LIMITS.bands);
  const known = samples.read(enrolment.pinnedAtMs, nowMs);
  const inRange = known.samples.filter(({ atS }) => atS * 1000 >= sinceMs && atS * 1000 <= untilMs);
  const capacity = bySignal((_, at) => orNull(known.capacity?.[at]));
  const signals = SAMPLED_SIGNALS.filter((name) => capacity[name] !== null);
  const valuesOf = (name: SampledSignal) =>
    inRange.map(({ available }) => orNull(available[SAMPLED_SIGNALS.indexOf(name)]));
  const settings = facts.current()?.settings;
  return {
    since: iso(sinceMs),
    until: iso(untilMs),
    knownSince: iso(oldestMs ?? enrolment.pinnedAtMs),
    isCut: isCut || shown.length < bands.length,
    bands: shown.map(({ fromMs, toMs, ...band }) => ({ ...band, from: iso(fromMs), to: iso(toMs) })),
    marks: marks.map(({ atMs, ...mark }) => ({ ...mark, at: iso(atMs) })),
    samples: {
      signals,
      at: inRange.map(({ atS }) => atS * 1000),
      values: Object.fromEntries(signals.map((name) => [name, valuesOf(name)])),
    },
    thresholds: thresholdsBy(settings ? parsedSettings(settings).thresholds : [], capacity),
    capacity,
  };
}

function thresholdsBy(thresholds: readonly Threshold[], capacity: Capacities): TimelineAnswer["thresholds"] {
  const amountOf = (name: SampledSignal, isHard: boolean): number | null => {
    const found = thresholds.find(
      ({ signal, gracePeriodMs }) => signal === name && (gracePeriodMs === 0) === isHard,
    );
    const whole = capacity[name];
    if (!found || (found.value.percentage !== null && whole === null)) return null;
    return Number(valueOf(thresholdQuantity(found.value, whole ?? 0)));
  };
  return bySignal((name) => ({ hard: amountOf(name, true), soft: amountOf(name, false) }));
}
