// Answers what the running containers use: over CRI, measured for a second, or by docker with --container-runtime docker.
import type { ParametersOf } from "../../shared/protocol/question.ts";
import { pause } from "../base/clock.ts";
import type { Method } from "../wire/grpc/client.ts";
import type { ProtoMessage, Schema } from "../wire/grpc/schema.ts";
import { type Call, docker, LISTS, withRuntime } from "./runtime.ts";
import type { Asking, Source } from "./source.ts";
import { bytesText, table } from "./table.ts";

const SAMPLE_MS = 1000;

const AMOUNT = { value: [1, "uint64"] } as const satisfies Schema;
/** ContainerStats of k8s.io/cri-api runtime.v1, with the fields that the answer has. */
const CONTAINER_STATS = {
  attributes: [1, { id: [1, "string"], metadata: [2, { name: [1, "string"] }] }],
  cpu: [2, { timestamp: [1, "int64"], usageCoreNanoSeconds: [2, AMOUNT] }],
  memory: [3, { workingSetBytes: [2, AMOUNT] }],
} as const satisfies Schema;
export const STATS = {
  path: "/runtime.v1.RuntimeService/ListContainerStats",
  request: {},
  answer: { stats: [1, [CONTAINER_STATS]] },
} as const satisfies Method<Schema, Schema>;

interface ContainerUsage {
  id: string;
  name: string;
  /** The average number of CPUs in use; null for a container that started during the measurement. */
  cpus: number | null;
  memoryBytes: number;
}

/** Yields the containers that use the most, first. */
export const containers: Source<ParametersOf<"containers">> = async function* (parameters, asking) {
  yield* asking.runtime.isDocker ? dockerStats(asking) : withRuntime(asking, usageLines(parameters));
};

const usageLines = ({ by, top }: ParametersOf<"containers">) =>
  async function* (call: Call): AsyncGenerator<string> {
    const used = await measured(call);
    const order = ({ cpus, memoryBytes }: ContainerUsage) => (by === "cpu" ? (cpus ?? -1) : memoryBytes);
    used.sort((a, b) => order(b) - order(a));
    const podOf = await podNames(call);
    yield `${used.length} containers; those with the most ${by}:`;
    yield* table([
      ["CONTAINER", "CPU", "MEMORY", "ID", "POD"],
      ...used
        .slice(0, top)
        .map(({ id, name, cpus, memoryBytes }) => [
          name,
          cpus === null ? "" : `${Math.round(1000 * cpus)}m`,
          bytesText(memoryBytes),
          id.slice(0, 13),
          podOf.get(id) ?? "",
        ]),
    ]);
  };

/** Measures the containers for a second. The times are the runtime's: it may measure less often than it is asked. */
async function measured(call: Call): Promise<ContainerUsage[]> {
  const before = new Map((await call(STATS, {})).stats.map((each) => [each.attributes?.id ?? "", each.cpu]));
  await pause(SAMPLE_MS);
  return (await call(STATS, {})).stats.map(({ attributes, cpu, memory }) => {
    const id = attributes?.id ?? "";
    return {
      id,
      name: attributes?.metadata?.name ?? "",
      cpus: cpusBetween(before.get(id), cpu),
      memoryBytes: memory?.workingSetBytes?.value ?? 0,
    };
  });
}

type Cpu = ProtoMessage<typeof CONTAINER_STATS>["cpu"];

/** Returns the CPUs in use between two measurements; null without both, or if the runtime has not measured again. */
function cpusBetween(before: Cpu, after: Cpu): number | null {
  const nanoseconds = (after?.timestamp ?? 0) - (before?.timestamp ?? 0);
  const [first, last] = [before?.usageCoreNanoSeconds?.value, after?.usageCoreNanoSeconds?.value];
  return first === undefined || last === undefined || nanoseconds <= 0
    ? null
    : Math.max(0, (last - first) / nanoseconds);
}

/** Returns the pod of each container, as NAMESPACE/NAME. */
async function podNames(call: Call): Promise<Map<string, string>> {
  const pods = (await call(LISTS.pods, {})).items;
  const nameOf = new Map(pods.map(({ id, metadata }) => [id, `${metadata?.namespace}/${metadata?.name}`]));
  const all = (await call(LISTS.containers, {})).containers;
  return new Map(all.map(({ id, podSandboxId }) => [id, nameOf.get(podSandboxId) ?? ""]));
}

async function* dockerStats(asking: Asking): AsyncGenerator<string> {
  const columns = "table {{.Name}}\t{{.CPUPerc}}\t{{.MemUsage}}\t{{.ID}}";
  yield* docker(["stats", "--no-stream", `--format=${columns}`], asking);
}
