// Setter: says machine where upstream's messages say kubelet, for people. Types, statuses and reasons stay, since
// programs read those.
import type { NodeCondition } from "../kubernetes/types.ts";
import type { Setter } from "./setter.ts";

/** By condition; docs/configuration.md lists them. */
export const MACHINE_WORDS: Readonly<Record<string, readonly { upstream: string; ours: string }[]>> = {
  Ready: [{ upstream: "kubelet is posting ready status", ours: "machine is posting ready status" }],
  MemoryPressure: [
    {
      upstream: "kubelet has sufficient memory available",
      ours: "machine has sufficient memory available",
    },
    {
      upstream: "kubelet has insufficient memory available",
      ours: "machine has insufficient memory available",
    },
  ],
  DiskPressure: [
    { upstream: "kubelet has no disk pressure", ours: "machine has no disk pressure" },
    { upstream: "kubelet has disk pressure", ours: "machine has disk pressure" },
  ],
  PIDPressure: [
    { upstream: "kubelet has sufficient PID available", ours: "machine has sufficient PID available" },
    { upstream: "kubelet has insufficient PID available", ours: "machine has insufficient PID available" },
  ],
};

/** Runs after upstream's setters, which write a message anew or keep the one that is there. */
export const machineWords: Setter = ({ status }) => {
  const { conditions = [] } = status;
  for (const [index, condition] of conditions.entries()) {
    const said = inOurWords(condition);
    if (said !== condition) status.conditions = (status.conditions ?? []).with(index, said);
  }
  return null;
};

/** The same object where nothing is to be said otherwise. */
function inOurWords(condition: NodeCondition): NodeCondition {
  const { type, message = "" } = condition;
  // For each report, so the table is not searched for what was said before.
  if (!message.startsWith("kubelet ")) return condition;
  // A warning may follow.
  const words = MACHINE_WORDS[type]?.find(({ upstream }) => message.startsWith(upstream));
  return words ? { ...condition, message: words.ours + message.slice(words.upstream.length) } : condition;
}
