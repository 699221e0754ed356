// Finds programs in a cluster by the names of their images and containers, and reads their flags.
import type { V1Container } from "@kubernetes/client-node";
import { type ClusterObjects, type Workload, workloadsOf } from "./cluster-objects.ts";

export interface Program extends Workload {
  /** The flags' values by name without dashes: "true" for a flag without value, the last for a repeated flag. */
  flags: Readonly<Record<string, string>>;
}

/** Returns each workload that runs a program with one of these names, and only one of equal static pods. */
export function programsNamed(cluster: ClusterObjects, ...names: readonly string[]): Program[] {
  const workloads = workloadsOf(cluster, "Deployment", "DaemonSet", "StatefulSet", "CronJob", "Pod");
  const found = workloads.flatMap((workload) => programOf(workload, names));
  const isRepeated = ({ kind, flags }: Program, index: number) =>
    kind === "Pod" &&
    found.slice(0, index).some((earlier) => earlier.kind === "Pod" && isSameFlags(earlier.flags, flags));
  return found.filter((program, index) => !isRepeated(program, index));
}

const isSameFlags = (left: Program["flags"], right: Program["flags"]) =>
  JSON.stringify(Object.keys(left)) === JSON.stringify(Object.keys(right));

function programOf(workload: Workload, names: readonly string[]): Program[] {
  const container = workload.spec.containers?.find((each) => isNamed(each, names));
  if (!container) return [];
  return [{ ...workload, flags: flagsIn([...(container.command ?? []), ...(container.args ?? [])]) }];
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

/** Reads flags `--name=value`, `--name value`, `--name` and `-name`, also inside a shell's command line. */
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

/** Returns the ConfigMaps with these programs' configuration, mounted as a volume or named by --configmap. */
export function configMapsOf(cluster: ClusterObjects): { namespace: string; name: string }[] {
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
  // kubeadm-config has the range of pods' addresses, which the flags of a managed control plane do not show.
  return [...mounted, ...named, { namespace: "kube-system", name: "kubeadm-config" }];
}
