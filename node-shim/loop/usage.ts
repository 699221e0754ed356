// Reads the machine's usage once a minute after a report or heartbeat, and sends it over the socket. Delays and decides
// nothing.
import { USAGE_LIMITS } from "../../shared/protocol/limits.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import type { Usage } from "../../shared/protocol/usage.ts";
import type { KernelUsage } from "../sources/kernel/usage.ts";
import type { KeptSamples } from "../worker-link/socket-transport.ts";
import { KeptUsage } from "./kept-usage.ts";
import type { LoopDependencies } from "./loop.ts";

interface UsageSending {
  /** Reads the usage. Never rejects. */
  read: () => Promise<KernelUsage>;
  /** Returns the open socket; null if reports go by HTTP, over which no usage is sent. */
  socket: () => UsageSocket | null;
  /** Typically systemClock.nowMs. */
  nowMs: () => number;
}

interface UsageSocket {
  /** Whether the gateway takes usage frames, as far as is known. */
  takesUsage: boolean;
  sendUsage: (usage: Usage, missing: KeptSamples) => void;
}

/**
 * Returns `report`, after which the usage is read if it is due. It is due at once on a new socket, then once a minute.
 * The usage is sent over a socket, or kept for the next one.
 */
export function sendingUsage(
  report: LoopDependencies["report"],
  { read, socket, nowMs }: UsageSending,
): LoopDependencies["report"] {
  const kept = new KeptUsage();
  let last: { over: UsageSocket | null; atMs: number } | null = null;
  let isReading = false;
  let reports = 0;

  async function sample(facts: Facts, vitals: Vitals, isReported: boolean): Promise<void> {
    const open = socket();
    const over = isReported && open?.takesUsage === true ? open : null;
    const isRecent = last !== null && nowMs() - last.atMs < 1000 * USAGE_LIMITS.everySeconds;
    if ((isRecent && (over === null || over === last?.over)) || isReading) return;
    isReading = true;
    const usage = wholeUsage(await read(), facts, vitals);
    isReading = false;
    last = { over, atMs: nowMs() };
    if (over === null || over !== socket()) return kept.add(usage, null);
    over.sendUsage(usage, {
      count: kept.missing(over),
      take: (most) => kept.take(most, { over, reports }),
    });
    kept.add(usage, { over, reports });
  }

  return async (facts, vitals) => {
    const over = socket();
    const count = ++reports;
    const outcome = await report(facts, vitals);
    if (outcome.ok && over !== null && over === socket()) kept.confirm({ over, reports: count });
    void sample(facts, vitals, outcome.ok);
    return outcome;
  };
}

/** Adds the CPUs, and the memory as the eviction signal counts it: without huge pages. */
export function wholeUsage(kernel: KernelUsage, { machine }: Facts, { signals }: Vitals): Usage {
  const [available, capacity] = signals["memory.available"] ?? [];
  const isKnown = available !== undefined && capacity !== undefined;
  return {
    ...kernel,
    cpus: machine?.cores ?? null,
    memoryWorkingSetBytes: isKnown ? Math.max(0, capacity - available) : null,
    memoryCapacityBytes: capacity ?? null,
  };
}
