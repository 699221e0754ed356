// Notifies the objects of machines whose lease has expired while no gateway watches the machine. Lists these leases
// while there are some. A watch would cost more: it sends an event for each renewal.
import { backOff } from "../../shared/back-off.ts";
import { type ApiError, type ApiResult, apiErrorText } from "../../shared/kubernetes/api-error.ts";
import { parseMicroTime } from "../../shared/kubernetes/micro-time.ts";
import type { Lease } from "../../shared/kubernetes/types.ts";
import type { Timer } from "../clock.ts";
import { inTime, withDeadline } from "../kube/deadline.ts";
import type { Log } from "../log.ts";
import { paced } from "../paced.ts";
import { NOTICE_LIMITS } from "./notices.ts";

export const EXPIRED_LEASE_LIMITS = {
  /** The most leases of one list, 11 MB of text. With more, each machine's silence waits for its object's alarm. */
  leases: 10_000,
  /** The notices of one renewal: the object of a blocked machine finds at each notice that the machine reports. */
  notices: 3,
  /** The most notices of one `watch`, thus of one alarm: the platform allows 10,000 subrequests, lists included. */
  aTurn: 5000,
} as const;
/** The time between two lists. A lease of 40 s has at least 30 s left in a list if its machine reports on time. */
const LIST_EVERY_MS = 25_000;
/** The time between two lists while no lease has the label. */
const NO_LEASE_MS = 300_000;
/** After a longer time without a list all leases may have expired, because the apiserver was away. */
const MOST_GAP_MS = 35_000;
const FIRST_WAIT_MS = 2000;
/** The time from the end of a lease to the notice. The clocks of two objects may differ. */
const SLACK_MS = 1000;
const ANSWER_WITHIN_MS = 8000;

export interface ExpiredLeaseDependencies {
  /** Lists the leases that no gateway renews. */
  list: () => Promise<ApiResult<{ items: Lease[] }>>;
  /** Notifies a machine's object. Returns true if the machine is silent. */
  notify: (name: string) => Promise<boolean>;
  log: Log;
  nowMs: () => number; // typically currentMs
  pause: (ms: number) => Promise<void>;
  /** The object's timer. */
  timer: Timer | undefined;
}

interface Seen {
  name: string;
  renewTime: string;
  endsMs: number;
  /** The number of notices that the machine's object may still get about this renewal. */
  noticesLeft: number;
}

export class ExpiredLeases {
  readonly #with: ExpiredLeaseDependencies;
  /** The leases of the last list, by name. */
  #seen = new Map<string, Seen>();
  /** The leases that end before the next list, or have ended. The first one ends first. */
  #due: Seen[] = [];
  #listAtMs = 0;
  #listedAtMs = 0;
  #expectedUntilMs = 0;
  #failures = 0;
  /** The number of notices that this `watch` may still send. */
  #left = 0;
  #wake: () => void = () => undefined;
  /** Why the last two lists or more have failed; undefined if they have not. */
  error: ApiError | undefined;

  constructor(dependencies: ExpiredLeaseDependencies) {
    this.#with = dependencies;
  }

  /** Lists soon, since a machine reports without a socket. Call it with each such question of a machine's object. */
  expect(): void {
    const nowMs = this.#with.nowMs();
    this.#expectedUntilMs = nowMs + NO_LEASE_MS;
    if (this.#failures > 0 || this.#listAtMs <= nowMs + LIST_EVERY_MS) return;
    this.#listAtMs = nowMs;
    this.#wake();
  }

  /** Lists and notifies until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    const { nowMs, timer } = this.#with;
    this.#left = EXPIRED_LEASE_LIMITS.aTurn;
    signal.addEventListener("abort", () => this.#wake());
    while (!signal.aborted) {
      const dueMs = this.#left > 0 ? (this.#due[0]?.endsMs ?? Infinity) : Infinity;
      const waitMs = Math.min(this.#listAtMs, dueMs) - nowMs();
      const woken = new Promise<void>((wake) => (this.#wake = wake));
      if (waitMs > 0) await withDeadline<void>(waitMs, () => woken, undefined, timer);
      else if (this.#listAtMs <= nowMs()) await this.#list();
      else await this.#notifyDue(signal);
    }
  }

  async #list(): Promise<void> {
    const { list, nowMs } = this.#with;
    const listed = await list();
    this.#due = [];
    if (!listed.ok) return this.#failed(listed.error);
    const { items } = listed.value;
    const most = EXPIRED_LEASE_LIMITS.leases;
    if (items.length > most)
      return this.#failed({ kind: "unanswered", message: `${items.length} leases are more than ${most}` });
    this.#failures = 0;
    this.error = undefined;
    const atMs = nowMs();
    const isNeeded = items.length > 0 || atMs < this.#expectedUntilMs;
    this.#listAtMs = atMs + (isNeeded ? LIST_EVERY_MS : NO_LEASE_MS);
    const before = atMs - this.#listedAtMs <= MOST_GAP_MS ? this.#seen : new Map<string, Seen>();
    this.#listedAtMs = atMs;
    this.#seen = new Map(items.map((lease) => this.#see(lease, before, atMs)));
    this.#due.sort((a, b) => a.endsMs - b.endsMs);
  }

  #see({ metadata, spec }: Lease, before: ReadonlyMap<string, Seen>, atMs: number): [string, Seen] {
    const { renewTime = "", leaseDurationSeconds = 0 } = spec ?? {};
    const name = metadata?.name ?? "";
    const known = before.get(name);
    const isSame = known?.renewTime === renewTime;
    const endsMs = parseMicroTime(renewTime) / 1000 + 1000 * leaseDurationSeconds + SLACK_MS;
    const seen = isSame ? known : { name, renewTime, endsMs, noticesLeft: EXPIRED_LEASE_LIMITS.notices };
    // After an outage of the apiserver all leases have expired. The next list shows which machines report.
    const isFirstSight = !isSame && endsMs <= atMs;
    if (endsMs < this.#listAtMs && seen.noticesLeft > 0 && !isFirstSight) this.#due.push(seen);
    return [name, seen];
  }

  #failed(error: ApiError): void {
    const { nowMs, log } = this.#with;
    this.#failures++;
    this.#listAtMs = nowMs() + backOff(this.#failures, FIRST_WAIT_MS, LIST_EVERY_MS);
    // A single failure is not reported, since each restart of an apiserver causes a failure.
    if (this.#failures === 2) log({ message: "leases are not listed", error: apiErrorText(error) });
    if (this.#failures > 1) this.error = error;
  }

  async #notifyDue(signal: AbortSignal): Promise<void> {
    await paced(this.#notices(signal), NOTICE_LIMITS, this.#with.pause);
  }

  *#notices(signal: AbortSignal): Generator<Promise<void>> {
    const { nowMs } = this.#with;
    const isDue = () => (this.#due[0]?.endsMs ?? Infinity) <= nowMs();
    // A late list would find leases whose end was not expected.
    while (isDue() && nowMs() < this.#listAtMs && this.#left > 0 && !signal.aborted) {
      this.#left--;
      yield this.#notify(this.#due.shift()!);
    }
  }

  async #notify(seen: Seen): Promise<void> {
    const { notify, timer, log } = this.#with;
    const { name } = seen;
    try {
      const isSilent = await inTime(ANSWER_WITHIN_MS, () => notify(name), undefined, timer);
      seen.noticesLeft = isSilent ? 0 : seen.noticesLeft - 1;
    } catch (error) {
      log({ node: name, message: "not told that its lease expired", error: String(error) });
    }
  }
}
