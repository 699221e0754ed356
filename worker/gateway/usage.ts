// Keeps what machines use, as their usage frames report it. The amounts are only in memory: an eviction loses a minute.
// A usage frame decides nothing, renews no lease, and is no contact that delays the detection of silence.
import { USAGE_LIMITS } from "../../shared/protocol/limits.ts";
import {
  type MachineUsage,
  shownUsage,
  type Usage,
  usageOf,
  usageText,
} from "../../shared/protocol/usage.ts";
import type { Measured, MetricName } from "../metrics/metrics.ts";
import { RATE_LIMITS, take } from "../storage/token-bucket.ts";
import type { Endings, GatewayParts } from "./endings.ts";
import { isMac } from "./heartbeats.ts";
import { usualBeatMs } from "./reports.ts";
import type { HeldSocket, SignedUsage } from "./sockets.ts";

type SeenUsage = { name: string } & NonNullable<HeldSocket["usage"]["seen"]>;

export class Usages {
  readonly #in: GatewayParts;
  readonly #endings: Endings;

  constructor(parts: GatewayParts, endings: Endings) {
    this.#in = parts;
    this.#endings = endings;
  }

  /** Takes a frame. Ignores a frame with another MAC or an old number, such as a frame of the session before. */
  async take(socket: HeldSocket, { usage, payload, mac }: SignedUsage): Promise<void> {
    const own = socket.usage;
    const { isTaken, bucket } = take(own.frames, RATE_LIMITS.socketUsage, this.#in.nowMs());
    if (!isTaken) return this.#endings.sendAway(socket, "too often");
    own.frames = bucket;
    const { key } = own;
    if (!key || !(await isMac(key, usageText(payload), mac)) || own.key !== key || usage.n <= own.n) return;
    own.n = usage.n;
    const before = own.seen?.last ?? null;
    own.seen = { atMs: this.#in.nowMs(), last: usageOf(usage.amounts), before };
  }

  list(): MachineUsage[] {
    return this.#seen().map(({ name, atMs, last, before }) => {
      return { name, at: new Date(atMs).toISOString(), ...shownUsage(last, before) };
    });
  }

  /** Returns the samples of each machine as text. No escaping is needed in a Node's name. */
  measure(): Measured {
    const seen = this.#seen();
    const lines = (name: MetricName, of: (seen: SeenUsage) => number | null) =>
      seen.map((each) => {
        const value = of(each);
        return value === null ? "" : `${name}{machine="${each.name}"} ${value}\n`;
      });
    const named = Object.entries(METRIC_OF).map(([amount, name]) => {
      return [name, lines(name, ({ last }) => last[amount as keyof Usage]).join("")] as const;
    });
    const at = lines("rollcall_machine_usage_timestamp_seconds", ({ atMs }) => atMs / 1000).join("");
    const all = [...named, ["rollcall_machine_usage_timestamp_seconds", at] as const];
    return Object.fromEntries(all.filter(([, text]) => text !== ""));
  }

  /** Returns the usage of the machines with an open socket whose last frame is recent. */
  #seen(): SeenUsage[] {
    const nowMs = this.#in.nowMs();
    return this.#in.held.open().flatMap((socket) => {
      const { usage, attachment } = socket;
      const everyMs = Math.max(1000 * USAGE_LIMITS.everySeconds, usualBeatMs(socket));
      const isRecent = usage.seen && nowMs - usage.seen.atMs <= USAGE_LIMITS.missed * everyMs;
      return usage.seen && isRecent ? [{ name: attachment.name, ...usage.seen }] : [];
    });
  }
}

/** The metric of each amount. The names of node_exporter and of the kubelet stand where the meaning is the same. */
const METRIC_OF = {
  cpuSecondsTotal: "node_cpu_usage_seconds_total",
  cpus: "rollcall_machine_cpus",
  load1: "node_load1",
  load5: "node_load5",
  load15: "node_load15",
  memoryWorkingSetBytes: "node_memory_working_set_bytes",
  memoryCapacityBytes: "rollcall_machine_memory_capacity_bytes",
  diskReadBytesTotal: "rollcall_machine_disk_read_bytes_total",
  diskWrittenBytesTotal: "rollcall_machine_disk_written_bytes_total",
  networkReceivedBytesTotal: "rollcall_machine_network_receive_bytes_total",
  networkSentBytesTotal: "rollcall_machine_network_transmit_bytes_total",
  cpuWaitingSecondsTotal: "node_pressure_cpu_waiting_seconds_total",
  memoryWaitingSecondsTotal: "node_pressure_memory_waiting_seconds_total",
  memoryStalledSecondsTotal: "node_pressure_memory_stalled_seconds_total",
  ioWaitingSecondsTotal: "node_pressure_io_waiting_seconds_total",
  ioStalledSecondsTotal: "node_pressure_io_stalled_seconds_total",
  temperatureCelsius: "rollcall_machine_temperature_celsius",
} as const satisfies Partial<Record<keyof Usage, MetricName>>;
