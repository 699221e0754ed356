// Asks machines for the samples of usage that they have kept, for the receiver of the deployment. A machine offers them
// with a usage frame, and sends none unasked. All is in memory: after an eviction the machines offer them again.
import { GATEWAY_LIMITS, USAGE_LIMITS } from "../../shared/protocol/limits.ts";
import { MISSING_USAGE, type Usage, usageOf, usageText } from "../../shared/protocol/usage.ts";
import { inTime } from "../kube/deadline.ts";
import { take, type TokenBucket } from "../storage/token-bucket.ts";
import { type Endings, type GatewayParts, NOTIFY_WITHIN_MS } from "./endings.ts";
import { isMac } from "./heartbeats.ts";
import type { HeldSocket, SignedMissing } from "./sockets.ts";
import type { UsageExport } from "./usage-export.ts";

/** The milliseconds after which the gateway asks again how many gateways there are. */
const GATEWAYS_MS = 600_000;
/** The milliseconds for which the room for asked samples is kept. */
const ANSWER_WITHIN_MS = 10_000;
/** The most that the computed time of a boot may change. A greater change is another boot, or a corrected clock. */
const BOOT_WITHIN_MS = 5000;

export class MissingUsages {
  readonly #in: GatewayParts;
  readonly #endings: Endings;
  readonly #export: UsageExport;
  /** The time at which each machine booted, and that of its last sample, in milliseconds since 1970. */
  readonly #times = new Map<string, { bootMs: number; lastMs: number }>();
  #asking: TokenBucket | undefined;
  #gateways: { count: Promise<number | null>; atMs: number } = {
    count: Promise.resolve(null),
    atMs: -Infinity,
  };

  constructor(parts: GatewayParts, endings: Endings, exported: UsageExport) {
    this.#in = parts;
    this.#endings = endings;
    this.#export = exported;
  }

  /**
   * Returns the time of a sample that has just arrived. The times of a machine's samples follow from its uptime, since its
   * clock may be wrong. A sample that arrives twice therefore has one time, and the receiver has it once. Returns null for
   * a time that is not after the machine's last one. Prometheus would refuse all samples of such a request.
   */
  timeOf(machine: string, { uptimeSeconds }: Usage): number | null {
    const nowMs = this.#in.nowMs();
    const known = this.#times.get(machine);
    const sinceBootMs = 1000 * (uptimeSeconds ?? NaN);
    const expectedMs = (known?.bootMs ?? NaN) + sinceBootMs;
    // An impossible uptime is so great that adding it loses hours: only a sum near the present is used.
    const isAsKnown = Math.abs(expectedMs - nowMs) <= BOOT_WITHIN_MS;
    const atMs = isAsKnown ? expectedMs : nowMs;
    if (known && atMs <= known.lastMs) return null;
    if (this.#times.size > 2 * GATEWAY_LIMITS.size[1]) this.#times.clear();
    this.#times.set(machine, { bootMs: isAsKnown ? known!.bootMs : nowMs - sinceBootMs, lastMs: atMs });
    return atMs;
  }

  /** Asks a machine for the samples that it offers, if there is room. Otherwise its next usage frame offers them again. */
  async offered(socket: HeldSocket, count: number): Promise<void> {
    const { held, nowMs } = this.#in;
    const gateways = await this.#countGateways();
    if (gateways === null) return;
    const most = Math.min(count, this.#export.room - this.#expected());
    const atOnce = Math.max(1, USAGE_LIMITS.askedASecond / gateways);
    const everyMs = (1000 * gateways) / USAGE_LIMITS.askedASecond;
    const { isTaken, bucket } = take(this.#asking, { atOnce, everyMs }, nowMs());
    if (most <= 0 || !isTaken) return;
    this.#asking = bucket;
    socket.usage.asked = { most, atMs: nowMs() };
    held.send(socket, { type: MISSING_USAGE, most });
  }

  /** Returns the number of samples for which the gateway has just asked. A machine that does not answer gets no room. */
  #expected(): number {
    const { held, nowMs } = this.#in;
    const asked = held.open().flatMap(({ usage }) => usage.asked ?? []);
    return asked
      .filter(({ atMs }) => Math.abs(nowMs() - atMs) < ANSWER_WITHIN_MS)
      .reduce((sum, { most }) => sum + most, 0);
  }

  /** Returns the number of gateways that share the rate; null if the registry does not answer. */
  #countGateways(): Promise<number | null> {
    const { receiver, nowMs, timer } = this.#in;
    if (!receiver) return Promise.resolve(null);
    if (nowMs() - this.#gateways.atMs >= GATEWAYS_MS) {
      const count = inTime(NOTIFY_WITHIN_MS, receiver.gateways, undefined, timer)
        .then((counted) => Math.max(1, counted))
        .catch(() => {
          this.#gateways.atMs = -Infinity;
          return null;
        });
      this.#gateways = { count, atMs: nowMs() };
    }
    return this.#gateways.count;
  }

  /** Takes the samples that a machine has kept. A machine that sends some unasked is sent away. */
  async take(socket: HeldSocket, { missing, payload, mac }: SignedMissing): Promise<void> {
    const own = socket.usage;
    const { asked, key, seen } = own;
    own.asked = null;
    if (!asked || missing.samples.length > asked.most) return this.#endings.sendAway(socket, "too often");
    if (
      !key ||
      !seen ||
      !(await isMac(key, usageText(payload), mac)) ||
      own.key !== key ||
      missing.n <= own.n
    )
      return;
    own.n = missing.n;
    const machine = socket.attachment.name;
    const samples = missing.samples.flatMap((amounts) => {
      const usage = usageOf(amounts);
      const uptimeSeconds = usage.uptimeSeconds ?? Infinity;
      const agoSeconds = (seen.last.uptimeSeconds ?? 0) - uptimeSeconds;
      const isPossible = agoSeconds > 0 && agoSeconds <= USAGE_LIMITS.keptSeconds;
      const atMs = (this.#times.get(machine)?.bootMs ?? 0) + 1000 * uptimeSeconds;
      return isPossible ? [{ machine, atMs, usage, isLate: true }] : [];
    });
    this.#in.counters.usage("expired", missing.lost + missing.samples.length - samples.length);
    this.#export.add(...samples);
    void this.#export.send();
  }
}
