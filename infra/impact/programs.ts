// Programs that a cluster runs, by the names of their images and containers, with their flags.
import type { V1Container, V1ObjectMeta, V1PodSpec } from "@kubernetes/client-node";
import type { ClusterObjects } from "./cluster-objects.ts";

export interface Program {
  /** `Deployment kube-system/cluster-autoscaler` */
  object: string;
  namespace: string;
  /** By its name without dashes; a flag without a value has "true". The last one counts. */
  flags: Readonly<Record<string, string>>;
  spec: V1PodSpec;
}

interface Workload {
  kind: string;
  metadata?: V1ObjectMeta | undefined;
  spec: V1PodSpec | undefined;
}

type Workloads = Pick<
  ClusterObjects,
  "deployments" | "daemonSets" | "statefulSets" | "cronJobs" | "systemPods"
>;

/** Finds each workload that runs one of these programs; of static pods with the same flags, the first alone. */
export function programsNamed(cluster: Workloads, ...names: readonly string[]): Program[] {
  const found = workloadsOf(cluster).flatMap((workload) => programOf(workload, names) ?? []);
  const isRepeated = (program: Program, index: number) =>
    program.object.startsWith("Pod ") &&
    found
      .slice(0, index)
      .some(({ object, flags }) => object.startsWith("Pod ") && isSameFlags(flags, program.flags));
  return found.filter((program, index) => !isRepeated(program, index));
}

const isSameFlags = (left: Program["flags"], right: Program["flags"]) =>
  JSON.stringify(Object.keys(left)) === JSON.stringify(Object.keys(right));

function workloadsOf(cluster: Workloads): Workload[] {
  const ofTemplate =
    (kind: string) => (each: { metadata?: V1ObjectMeta; spec?: { template?: { spec?: V1PodSpec } } }) => ({
      kind,
      metadata: each.metadata,
      spec: each.spec?.template?.spec,
    });
  return [
    ...cluster.deployments.map(ofTemplate("Deployment")),
    ...cluster.daemonSets.map(ofTemplate("DaemonSet")),
    ...cluster.statefulSets.map(ofTemplate("StatefulSet")),
    ...cluster.cronJobs.map(({ metadata, spec }) => ({
      kind: "CronJob",
      metadata,
      spec: spec?.jobTemplate?.spec?.template?.spec,
    })),
    ...cluster.systemPods.filter(isStatic).map(({ metadata, spec }) => ({ kind: "Pod", metadata, spec })),
  ];
}

/** A pod of a file on its Node; other pods belong to a workload. */
function isStatic({ metadata }: { metadata?: V1ObjectMeta }): boolean {
  return (metadata?.ownerReferences ?? []).every(({ kind }) => kind === "Node");
}

function programOf({ kind, metadata, spec }: Workload, names: readonly string[]): Program | undefined {
  const container = spec?.containers?.find((each) => isNamed(each, names));
  if (!spec || !container) return undefined;
  const { name = "", namespace = "" } = metadata ?? {};
  const words = [...(container.command ?? []), ...(container.args ?? [])];
  return { object: `${kind} ${namespace}/${name}`, namespace, flags: flagsIn(words), spec };
}

function isNamed({ name, image = "", command = [] }: V1Container, names: readonly string[]): boolean {
  const ofImage = (image.split("@")[0] ?? "")
    .split("/")
    .at(-1)
    ?.replace(/:.*$/, "")
    .replace(/-(amd64|arm64|arm)$/, "");
  const ofCommand = command[0]?.split("/").at(-1);
  return names.some((each) => [name, ofImage, ofCommand].includes(each));
}

/** `--name=value`, `--name value` and `--name`, also with one dash, also within the words of a shell's line. */
function flagsIn(words: readonly string[]): Record<string, string> {
  const all = words.flatMap((word) => (/\s--/.test(word) ? word.split(/\s+/) : [word]));
  const flags: Record<string, string> = {};
  for (const [index, word] of all.entries()) {
    const [, name, value] = /^--?([a-zA-Z][\w.-]*)(?:=([^]*))?$/.exec(word) ?? [];
    if (name === undefined) continue;
    const next = all[index + 1];
    flags[name] = value ?? (next === undefined || next.startsWith("-") ? "true" : next);
  }
  return flags;
}

export const CONFIGURED = {
  descheduler: ["descheduler"],
  proportional: ["cluster-proportional-autoscaler"],
} as const;

/** The ConfigMaps in which these programs have their configuration: of a volume, or by the flag --configmap. */
export function configMapsOf(cluster: Workloads): { namespace: string; name: string }[] {
  const mounted = programsNamed(cluster, ...CONFIGURED.descheduler).flatMap(({ namespace, spec }) =>
    (spec.volumes ?? []).flatMap(({ configMap }) =>
      configMap?.name ? [{ namespace, name: configMap.name }] : [],
    ),
  );
  const named = programsNamed(cluster, ...CONFIGURED.proportional).flatMap(({ namespace, flags }) =>
    flags["configmap"] === undefined
      ? []
      : [{ namespace: flags["namespace"] ?? namespace, name: flags["configmap"] }],
  );
  // kubeadm's has the range of pods' addresses, which a managed control plane's flags do not show.
  return [...mounted, ...named, { namespace: "kube-system", name: "kubeadm-config" }];
}
