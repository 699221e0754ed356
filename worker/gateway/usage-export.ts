// Sends what machines use to the receiver of USAGE_OTLP_URL: OTLP over HTTP, as JSON. No heartbeat waits for a request.
// The samples are only in memory. The gateway counts each sample that it sends or loses.
import type { Usage } from "../../shared/protocol/usage.ts";
import { inTime } from "../kube/deadline.ts";
import { METRICS, type MetricName } from "../metrics/metrics.ts";
import type { GatewayParts } from "./endings.ts";
import type { LabelsOf, UsageReceiver } from "./usage-receiver.ts";

export const EXPORT_LIMITS = {
  /** The most samples in one request. With labels that is half a MiB, since many proxies refuse more than 1 MiB. */
  samplesOfRequest: 100,
  /** The most samples that wait for the receiver. Further samples replace the oldest. */
  waiting: 2000,
  /** Seconds until the gateway gives a request up. */
  sentSeconds: 10,
  /** Seconds after which the gateway reads the machines' labels again. */
  labelsSeconds: 600,
} as const;

export interface UsageSample {
  machine: string;
  atMs: number;
  usage: Usage;
  /** true if a machine had kept the sample, so that later ones may have been sent before. */
  isLate: boolean;
}

type Surroundings = Pick<
  GatewayParts,
  "counters" | "lateness" | "log" | "members" | "nowMs" | "receiver" | "timer"
>;

export class UsageExport {
  readonly #in: Surroundings;
  #waiting: UsageSample[] = [];
  #labels: LabelsOf = {};
  #labelsMs = -Infinity;
  #isSending = false;
  #isFailing = false;

  constructor(surroundings: Surroundings) {
    this.#in = surroundings;
  }

  /** The number of samples for which there is room; 0 without a receiver. */
  get room(): number {
    return this.#in.receiver ? EXPORT_LIMITS.waiting - this.#waiting.length : 0;
  }

  add(...samples: UsageSample[]): void {
    if (!this.#in.receiver) return;
    this.#waiting.push(...samples);
    const lost = this.#waiting.splice(0, Math.max(0, this.#waiting.length - EXPORT_LIMITS.waiting));
    this.#in.counters.usage("dropped", lost.length);
  }

  /** Sends the waiting samples, one request at a time, until one fails. Never rejects. Typically the alarm calls it. */
  async send(): Promise<void> {
    const { receiver, lateness } = this.#in;
    if (!receiver || this.#isSending) return;
    this.#isSending = true;
    let isGood = true;
    while (isGood && this.#waiting.length > 0 && lateness.ms === 0) isGood = await this.#sendSome(receiver);
    this.#isSending = false;
  }

  /** Sends some samples. Returns false if the receiver took and refused none of them, so that they wait. */
  async #sendSome(receiver: UsageReceiver): Promise<boolean> {
    const { counters, timer, log } = this.#in;
    const samples = this.#next();
    const taken = new Set(samples);
    this.#waiting = this.#waiting.filter((each) => !taken.has(each));
    const wait = () => {
      this.add(...samples, ...this.#waiting.splice(0));
    };
    // A machine's first sample waits for its labels: with other labels it would be of another series.
    if (!(await this.#readLabels(receiver, samples))) {
      wait();
      return false;
    }
    const body = JSON.stringify(otlpOf(samples, this.#labels, receiver.deployment));
    const ask = async (signal: AbortSignal) => {
      const { status, body: answer } = await receiver.post(body, signal);
      void answer?.cancel().catch(() => undefined);
      return status;
    };
    const status = await inTime(1000 * EXPORT_LIMITS.sentSeconds, ask, undefined, timer).catch(String);
    const isTaken = typeof status === "number" && status >= 200 && status < 300;
    const isFailing = !isTaken;
    if (isFailing && !this.#isFailing) log({ message: "usage is not sent", error: String(status) });
    this.#isFailing = isFailing;
    const isOver = isTaken || REFUSED_FOR_GOOD.has(status);
    if (isOver) counters.usage(isTaken ? "sent" : "refused", samples.length);
    else wait();
    return isOver;
  }

  /** Reads labels: every ten minutes those of all machines, else of new ones. Returns false if new ones stay unknown. */
  async #readLabels({ labels }: UsageReceiver, samples: readonly UsageSample[]): Promise<boolean> {
    const { members, nowMs, timer } = this.#in;
    const unknown = samples.filter(({ machine }) => !Object.hasOwn(this.#labels, machine));
    const isOld = nowMs() - this.#labelsMs >= 1000 * EXPORT_LIMITS.labelsSeconds;
    if (!labels || (!isOld && unknown.length === 0)) return true;
    const names = [...(isOld ? members.names() : []), ...unknown.map(({ machine }) => machine)];
    const ask = () => labels([...new Set(names)]);
    const read = await inTime(1000 * EXPORT_LIMITS.sentSeconds, ask, undefined, timer).catch(() => null);
    if (!read) return unknown.length === 0;
    this.#labels = isOld ? read : { ...this.#labels, ...read };
    if (isOld) this.#labelsMs = nowMs();
    return true;
  }

  /**
   * Returns the samples of the next request. Late samples of one machine have a request of their own,
   * which the receiver may refuse. The machine may have sent other values of that time before.
   */
  #next(): UsageSample[] {
    const [first] = this.#waiting;
    const alike = this.#waiting.filter(
      ({ isLate, machine }) => isLate === first?.isLate && (!isLate || machine === first.machine),
    );
    return alike.slice(0, EXPORT_LIMITS.samplesOfRequest);
  }
}

/** The statuses of a receiver that would refuse the same request again. */
const REFUSED_FOR_GOOD: ReadonlySet<unknown> = new Set([400, 413, 415, 422]);

/** Returns the body of a request. Attributes of data points become labels in Prometheus, those of the resource do not. */
function otlpOf(samples: readonly UsageSample[], labels: LabelsOf, deployment: string): object {
  const metrics = METRIC_ENTRIES.flatMap(([amount, name]) => {
    const dataPoints = samples.flatMap(({ machine, atMs, usage }) => {
      const asDouble = usage[amount];
      const attributes = attributesOf({ ...labels[machine], machine });
      return asDouble === null ? [] : [{ attributes, timeUnixNano: `${Math.round(atMs)}000000`, asDouble }];
    });
    if (dataPoints.length === 0) return [];
    const isCounter = METRICS[name][0] === "counter";
    return { name, ...(isCounter ? { sum: { ...CUMULATIVE, dataPoints } } : { gauge: { dataPoints } }) };
  });
  const attributes = attributesOf({ "service.name": "rollcall", "service.instance.id": deployment });
  return { resourceMetrics: [{ resource: { attributes }, scopeMetrics: [{ metrics }] }] };
}

const CUMULATIVE = { aggregationTemporality: 2, isMonotonic: true };

const attributesOf = (labels: Record<string, string>) =>
  Object.entries(labels).map(([key, stringValue]) => ({ key, value: { stringValue } }));

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
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the entries of METRIC_OF
export const METRIC_ENTRIES = Object.entries(METRIC_OF) as [keyof typeof METRIC_OF, MetricName][];
