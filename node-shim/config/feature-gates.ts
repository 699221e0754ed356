// Which feature gates a configuration turns on, and what a kubelet refuses of them. Nothing here has a gate of its own.
import { failure, type Result, success } from "../../shared/result.ts";
import { KNOWN_GATES, NEEDED_GATES } from "./known-feature-gates.ts";
import { nearestName } from "./nearest-name.ts";

/** Is the gate of this name on? */
export type FeatureGates = (name: string) => boolean;

const known = new Map(KNOWN_GATES.flatMap((gates) => gates.names.map((name) => [name, gates] as const)));

/** Gates that stand for all of a stage that are not set themselves. */
const STAGES: ReadonlyMap<string, string> = new Map([
  ["AllAlpha", "alpha"],
  ["AllBeta", "beta"],
]);

/** Upstream featureGate.SetFromMap, at the version that is compiled in. */
export function featureGates(set: Readonly<Record<string, boolean>>): Result<FeatureGates> {
  for (const [name, isOn] of Object.entries(set)) {
    if (STAGES.has(name)) continue;
    const gate = known.get(name);
    if (!gate)
      return failure(
        `unrecognized feature gate: ${name}; the nearest known name is ${nearestName(name, [...known.keys(), ...STAGES.keys()])}`,
      );
    if (gate.isLocked && gate.isOn !== isOn)
      return failure(`cannot set feature gate ${name} to ${isOn}, feature is locked to ${gate.isOn}`);
  }
  const ofStage = new Map([...STAGES].map(([name, stage]) => [stage, set[name]]));
  const isOn: FeatureGates = (name) => {
    const gate = known.get(name);
    return set[name] ?? ofStage.get(gate?.stage ?? "") ?? gate?.isOn ?? false;
  };
  for (const [name, needed] of Object.entries(NEEDED_GATES)) {
    const off = needed.filter((need) => !isOn(need));
    if (isOn(name) && off.length > 0)
      return failure(`${name} is enabled, but depends on features that are disabled: ${off.join(", ")}`);
  }
  return success(isOn);
}
