// Replaces the word kubelet by machine in upstream's messages for people. Programs read types, statuses and reasons.
import type { Setter } from "./setter.ts";

/** Upstream's messages about a kubelet, by condition. docs/configuration.md lists them with their replacements. */
export const KUBELET_WORDS: Readonly<Record<string, readonly string[]>> = {
  Ready: ["kubelet is posting ready status"],
  MemoryPressure: ["kubelet has sufficient memory available", "kubelet has insufficient memory available"],
  DiskPressure: ["kubelet has no disk pressure", "kubelet has disk pressure"],
  PIDPressure: ["kubelet has sufficient PID available", "kubelet has insufficient PID available"],
};

/** Replaces the messages. Runs after upstream's setters, which write a new message or keep the old one. */
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

/** Returns the message with the word machine, or the same text if it has no replacement. */
export function inMachineWords(conditionType: string, message: string): string {
  // The first check skips replaced messages fast, because the function runs for each report.
  if (!message.startsWith("kubelet ")) return message;
  // Only the beginning is compared, because a warning may follow.
  const isUpstream = KUBELET_WORDS[conditionType]?.some((words) => message.startsWith(words)) ?? false;
  return isUpstream ? message.replace("kubelet", "machine") : message;
}
