// Sends the machine's usage over the socket, once a minute after a report or heartbeat. Delays and decides nothing.
import { USAGE_LIMITS } from "../../shared/protocol/limits.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import type { Usage } from "../../shared/protocol/usage.ts";
import type { KernelUsage } from "../sources/kernel/usage.ts";
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
  sendUsage: (usage: Usage) => void;
}

/** Returns `report`, after which the usage is sent if it is due: at once on a new socket, then once a minute. */
export function sendingUsage(
  report: LoopDependencies["report"],
  { read, socket, nowMs }: UsageSending,
): LoopDependencies["report"] {
  let last: { over: UsageSocket; atMs: number } | null = null;
  let isReading = false;

  async function send(facts: Facts, vitals: Vitals): Promise<void> {
    const over = socket();
    const isRecent = last?.over === over && nowMs() - last.atMs < 1000 * USAGE_LIMITS.everySeconds;
    if (!over?.takesUsage || isRecent || isReading) return;
    isReading = true;
    const usage = wholeUsage(await read(), facts, vitals);
    isReading = false;
    if (over !== socket()) return;
    last = { over, atMs: nowMs() };
    over.sendUsage(usage);
  }

  return async (facts, vitals) => {
    const outcome = await report(facts, vitals);
    if (outcome.ok) void send(facts, vitals);
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
