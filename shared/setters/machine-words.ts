// Setter: says machine where upstream's messages say kubelet, for people. Types, statuses and reasons stay, since
// programs read those.
import type { Setter } from "./setter.ts";

/** Upstream's messages that speak of a kubelet, by condition; docs/configuration.md lists them and ours. */
export const KUBELET_WORDS: Readonly<Record<string, readonly string[]>> = {
  Ready: ["kubelet is posting ready status"],
  MemoryPressure: ["kubelet has sufficient memory available", "kubelet has insufficient memory available"],
  DiskPressure: ["kubelet has no disk pressure", "kubelet has disk pressure"],
  PIDPressure: ["kubelet has sufficient PID available", "kubelet has insufficient PID available"],
};

/** Runs after upstream's setters, which write a message anew or keep the one that is there. */
export const machineWords: Setter = ({ status }) => {
  const { conditions = [] } = status;
  for (const [index, condition] of conditions.entries()) {
    const { type, message = "" } = condition;
    const said = inMachineWords(type, message);
    if (said !== message)
      status.conditions = (status.conditions ?? []).with(index, { ...condition, message: said });
  }
  return null;
};

/** The same text where nothing is to be said otherwise. */
export function inMachineWords(conditionType: string, message: string): string {
  // For each report, so the table is not searched for what was said before.
  if (!message.startsWith("kubelet ")) return message;
  // A warning may follow.
  const isUpstream = KUBELET_WORDS[conditionType]?.some((words) => message.startsWith(words)) ?? false;
  return isUpstream ? message.replace("kubelet", "machine") : message;
}
