// Keeps what machines use, as their usage frames report it. The amounts are only in memory: an eviction loses a minute.
// A usage frame decides nothing, renews no lease, and is no contact that delays the detection of silence.
import { USAGE_LIMITS } from "../../shared/protocol/limits.ts";
import type { MachineUsage } from "../../shared/protocol/fleet-answers.ts";
import { shownUsage, usageOf, usageText } from "../../shared/protocol/usage.ts";
import type { Measured, MetricName } from "../metrics/metrics.ts";
import { RATE_LIMITS, take } from "../storage/token-bucket.ts";
import type { Endings, GatewayParts } from "./endings.ts";
import { isMac } from "./heartbeats.ts";
import { MissingUsages } from "./missing-usage.ts";
import { usualBeatMs } from "./reports.ts";
import type { HeldSocket, SignedMissing, SignedUsage } from "./sockets.ts";
import { METRIC_ENTRIES, UsageExport } from "./usage-export.ts";

type SeenUsage = { name: string } & NonNullable<HeldSocket["usage"]["seen"]>;

export class Usages {
  readonly #in: GatewayParts;
  readonly #endings: Endings;
  readonly #export: UsageExport;
  readonly #missing: MissingUsages;

  constructor(parts: GatewayParts, endings: Endings) {
    this.#in = parts;
    this.#endings = endings;
    this.#export = new UsageExport(parts);
    this.#missing = new MissingUsages(parts, endings, this.#export);
  }

  /** Sends the waiting samples to the receiver of the deployment. Never rejects. */
  send(): Promise<void> {
    return this.#export.send();
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
    const [atMs, last] = [this.#in.nowMs(), usageOf(usage.amounts)];
    own.seen = { atMs, last, before };
    const machine = socket.attachment.name;
    const sampleMs = this.#missing.timeOf(machine, last);
    if (sampleMs !== null) this.#export.add({ machine, atMs: sampleMs, usage: last, isLate: false });
    else if (this.#in.receiver) this.#in.counters.usage("expired", 1);
    if (usage.missing !== undefined) await this.#missing.offered(socket, usage.missing);
  }

  /** Takes the samples that a machine has kept. */
  takeMissing(socket: HeldSocket, signed: SignedMissing): Promise<void> {
    return this.#missing.take(socket, signed);
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
    const named = METRIC_ENTRIES.map(([amount, name]) => {
      return [name, lines(name, ({ last }) => last[amount]).join("")] as const;
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
